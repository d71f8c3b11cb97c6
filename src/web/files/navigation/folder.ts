import { byId } from '../../shared/dom.ts';

/** Parameter of a folder's URL that names the file shown above it (`?preview=NAME`). */
export const layerParameter = 'preview';

let shown = pageUrl(location.href);

/** URL of a page, without the parameter for the file shown above it. */
export function pageUrl(href: string): URL {
  const url = new URL(href, location.href);
  url.searchParams.delete(layerParameter);
  url.hash = '';
  return url;
}

/** URL of the shown page, with its sort order. After Back it differs from the window's URL until the new folder is shown. */
export function shownPage(): URL {
  return shown;
}

export function setShownPage(page: URL): void {
  shown = page;
}

/** URL path of the shown folder; ends in `/`. */
export function folderUrl(): string {
  return shown.pathname;
}

/** Whether the account has a right in the folder. The service still checks every request. */
export function may(
  right: 'look' | 'read' | 'write' | 'overwrite' | 'create-folder' | 'delete' | 'rename' | 'share' | 'trash' | 'quota' | 'inspected',
): boolean {
  return (byId('main').dataset.may ?? '').split(' ').includes(right);
}

/** Rule for an upload whose name is taken. Accounts that may not list the folder are not asked. */
export function conflictRule(): 'ask' | 'overwrite' | 'keep-both' {
  if (!may('look')) return 'overwrite';
  return byId('main').dataset.taken === 'number' && !may('overwrite') ? 'keep-both' : 'ask';
}
