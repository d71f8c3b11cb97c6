import { byId } from '../../shared/dom.ts';

/** Parameter of a folder's URL that names the file shown above it (`?preview=NAME`). */
export const layerParameter = 'preview';

let shown = pageUrl(location.href);

/** The page of a URL, without the file that is shown above it. */
export function pageUrl(href: string): URL {
  const url = new URL(href, location.href);
  url.searchParams.delete(layerParameter);
  url.hash = '';
  return url;
}

/** URL of the page that is shown, with the query of its order. Between a step of Back and the new folder that is not the URL of the window. */
export function shownPage(): URL {
  return shown;
}

export function setShownPage(page: URL): void {
  shown = page;
}

/** URL path of the folder that is shown; ends in `/`. */
export function folderUrl(): string {
  return shown.pathname;
}

/** Whether the account has a right in the folder; the service checks every request all the same. */
export function may(
  right: 'look' | 'read' | 'write' | 'overwrite' | 'create-folder' | 'delete' | 'rename' | 'share' | 'trash' | 'quota' | 'inspected',
): boolean {
  return (byId('main').dataset.may ?? '').split(' ').includes(right);
}

/** The choice for an upload whose name is taken; not offered to accounts that may not list the folder. */
export function conflictRule(): 'ask' | 'overwrite' | 'keep-both' {
  if (!may('look')) return 'overwrite';
  return byId('main').dataset.taken === 'number' && !may('overwrite') ? 'keep-both' : 'ask';
}
