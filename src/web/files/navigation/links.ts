import { kindOfFile } from '../rows/rows.ts';
import { isAccountPage, layerParameter } from './folder.ts';
import { folderChanges, showFolder } from './folder-change.ts';

/**
 * Changes the link of a file so that it leads to the folder with the preview of the file. Links of files without a preview stay unchanged,
 * and so do links of audio files, because the player has no URL.
 */
export function leadToPreview(link: HTMLAnchorElement): void {
  const [, folder = '', name = ''] = /^(.*\/)([^/]*)$/.exec(link.pathname) ?? [];
  const kind = name === '' ? undefined : kindOfFile(decodeURIComponent(name), [...link.classList]);
  if (kind !== undefined && kind !== 'audio') link.href = `${folder}?${layerParameter}=${name}`;
}

/** Value of `folderChanges()` at the first click of a double click. */
let atFirstPress = 0;

/**
 * Handles links and forms that lead to a folder or a page such as the trash. The target replaces the content of this page, unless another
 * tab opens.
 */
export function startLinks(): void {
  document.addEventListener('click', onPress, { capture: true });
  document.addEventListener('click', onClick);
  document.addEventListener('submit', onSubmit);
}

// If the first click has opened a folder, the second click of a double click must not act on the row that is now under the pointer.
function onPress(event: MouseEvent): void {
  if (event.detail <= 1) atFirstPress = folderChanges();
  if (event.detail <= 1 || atFirstPress === folderChanges()) return;
  event.preventDefault();
  event.stopPropagation();
}

function onClick(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href]') : null;
  if (link?.target !== '' || link.hasAttribute('download') || event.button !== 0) return;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  lead(event, new URL(link.href));
}

function onSubmit(event: SubmitEvent): void {
  const { target: form, submitter } = event;
  if (!(form instanceof HTMLFormElement) || form.method !== 'get' || event.defaultPrevented) return;
  lead(event, formUrl(form, submitter));
}

/** Returns the URL to which a form leads. */
export function formUrl(form: HTMLFormElement, submitter?: HTMLElement | null): URL {
  const url = new URL(form.action);
  // The form has no file fields, so all values are strings. The type in the DOM also allows files.
  url.search = new URLSearchParams([...new FormData(form, submitter)] as [string, string][]).toString();
  return url;
}

function lead(event: Event, url: URL): void {
  const isPage = url.pathname.startsWith('/home/') && (url.pathname.endsWith('/') || isAccountPage(url.pathname));
  if (url.origin !== location.origin || !isPage || url.hash !== '') return;
  event.preventDefault();
  void showFolder(url);
}
