import { byId } from '../../shared/dom.ts';

/** Parameter of a folder's URL that names the file whose preview covers the folder (`?preview=NAME`). */
export const layerParameter = 'preview';

let shown = pageUrl(location.href);

/** Returns the URL of a page without its fragment, and without the parameter that names an open preview. */
export function pageUrl(href: string): URL {
  const url = new URL(href, location.href);
  url.searchParams.delete(layerParameter);
  url.hash = '';
  return url;
}

/** Returns the URL of the shown page, with its sort order. After Back, the URL of the window differs until the other folder is shown. */
export function shownPage(): URL {
  return shown;
}

export function setShownPage(page: URL): void {
  shown = page;
}

/** Returns the URL path of the shown folder. It ends in `/`. */
export function folderUrl(): string {
  return shown.pathname;
}

/** Prefix of the URL paths of an account's pages that show no folder, such as the trash. */
const accountPages = '/home/__svc__/';

/** Returns whether a path leads to a page of the account that shows no folder. @param path default: the path of the shown page */
export function isAccountPage(path = folderUrl()): boolean {
  return path.startsWith(accountPages);
}

/** Returns whether the account has a right in the folder. The service checks every request anyway. */
export function may(
  right: 'look' | 'read' | 'write' | 'overwrite' | 'create-folder' | 'delete' | 'rename' | 'share' | 'trash' | 'quota' | 'inspected',
): boolean {
  return (byId('main').dataset.may ?? '').split(' ').includes(right);
}

/**
 * Returns the rule for uploads whose name is taken. An account that may not look into the folder must not learn which names are taken
 * (docs/spec/files.md), so the page does not ask.
 */
export function conflictRule(): 'ask' | 'overwrite' | 'keep-both' {
  if (!may('look')) return 'overwrite';
  return byId('main').dataset.taken === 'number' && !may('overwrite') ? 'keep-both' : 'ask';
}
