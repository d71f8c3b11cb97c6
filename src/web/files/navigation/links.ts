import { kindOfFile } from '../rows/rows.ts';
import { isAccountPage, layerParameter } from './folder.ts';
import { folderChanges, showFolder } from './folder-change.ts';

/** Makes the link of a file lead to its preview over the folder. Audio files have none, because the player has no URL. */
export function leadToPreview(link: HTMLAnchorElement): void {
  const [, folder = '', name = ''] = /^(.*\/)([^/]*)$/.exec(link.pathname) ?? [];
  const kind = name === '' ? undefined : kindOfFile(decodeURIComponent(name), [...link.classList]);
  if (kind !== undefined && kind !== 'audio') link.href = `${folder}?${layerParameter}=${name}`;
}

/** `folderChanges()` at the first click of a double click. */
let atFirstPress = 0;

/** Handles links and forms that lead to a folder or a page such as the trash. The target replaces the content of this page. */
export function startLinks(): void {
  document.addEventListener('click', onPress, { capture: true });
  document.addEventListener('click', onClick);
  document.addEventListener('submit', onSubmit);
}

// After the first click has opened a folder, the second must not act on the row that is now under the pointer.
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
  const url = new URL(form.action);
  // Without file fields, all values are strings.
  url.search = new URLSearchParams([...new FormData(form, submitter)] as [string, string][]).toString();
  lead(event, url);
}

function lead(event: Event, url: URL): void {
  const isPage = url.pathname.startsWith('/home/') && (url.pathname.endsWith('/') || isAccountPage(url.pathname));
  if (url.origin !== location.origin || !isPage || url.hash !== '') return;
  event.preventDefault();
  void showFolder(url);
}
