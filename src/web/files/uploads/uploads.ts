import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { awaitPart, loadPart } from '../../shared/parts.ts';
import { openNewMenu } from '../actions/row-menu.ts';
import { text } from '../language.ts';
import { conflictRule, folderUrl, may } from '../navigation/folder.ts';
import { keptPrefix, newUpload, pastedName, type Upload } from './upload.ts';

/** Delay in milliseconds before the part that sends files is preloaded. */
const aheadMs = 1500;

/** Takes files and pictures that are pasted outside of fields. @param take must read them while the event is being handled */
function startPaste(take: (transfer: DataTransfer, rename: (upload: Upload) => void) => void): void {
  document.addEventListener('paste', (event) => {
    const { clipboardData, target } = event;
    const isTyping = target instanceof Element && target.matches('input:not([type="checkbox"]), textarea');
    if (!clipboardData?.types.includes('Files') || isTyping || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    take(clipboardData, (upload) => {
      upload.name = pastedName(upload.file, Date.now(), text('screenshot'));
    });
  });
}

type Add = (uploads: Upload[], emptyFolders?: readonly string[]) => void;

const loadSending = () => import('./sending.ts');

/**
 * Lets the user upload files by drag and drop and by pasting. Uploads continue when another folder is shown.
 *
 * @returns a function that adds the upload buttons to the shown folder
 */
export function startUploads(): () => void {
  const add: Add = (uploads, emptyFolders) => {
    const home = folderUrl();
    const waiting = text('uploadWaits', { count: uploads.length });
    void awaitPart('sending', loadSending, waiting).then((part) => part.sendUploads(uploads, home, emptyFolders));
  };
  startDrops(add);
  // The service writes this button for phones, whose tools have no words.
  document.addEventListener('click', ({ target }) => {
    if ((target as Element).closest('.empty > .primary')) byId('tools').querySelector<HTMLElement>('.primary')?.click();
  });
  startPaste((transfer, rename) => void (may('write') && take(transfer, add, rename)));
  return () => {
    if (!may('write')) return;
    byId('tools').prepend(...buttons(add, may('create-folder')));
    if (isAnyUnfinished()) void loadPart('sending', loadSending).then((part) => part?.offerToContinue());
    // The part is preloaded, so that files can be chosen even while the connection is lost. Their uploads wait for the connection.
    else setTimeout(() => void loadPart('sending', loadSending), aheadMs);
  };
}

function isAnyUnfinished(): boolean {
  try {
    return Object.keys(localStorage).some((key) => key.startsWith(keptPrefix));
  } catch {
    return false;
  }
}

function buttons(add: Add, mayCreateFolder: boolean): HTMLElement[] {
  const files = picker(add, false);
  const upload = makeButton(text('uploadFiles'), 'upload', () => files.click(), 'primary compact');
  upload.dataset.brief = text('upload');
  if (!mayCreateFolder) return [upload, files];
  const folder = picker(add, true);
  const other = makeButton(text('new'), 'plus', () => openNewMenu(other), 'compact new-item');
  other.ariaHasPopup = 'menu';
  return [upload, files, other, makeButton(text('uploadFolder'), 'uploadFolder', () => folder.click(), 'compact joined'), folder];
}

function picker(add: Add, isFolder: boolean): HTMLInputElement {
  const label = text(isFolder ? 'uploadFolder' : 'uploadFiles');
  const field = make('input', { type: 'file', multiple: true, hidden: true, webkitdirectory: isFolder, ariaLabel: label });
  field.addEventListener('change', () => {
    const parentFolder = ({ webkitRelativePath }: File) => webkitRelativePath.split('/').slice(0, -1).join('/');
    add([...(field.files ?? [])].map((file) => newUpload(file, folderUrl(), parentFolder(file), conflictRule())));
    field.value = '';
  });
  return field;
}

/** Uploads dropped files. Without the right to write, the page intercepts and ignores them, so that the browser does not open them. */
function startDrops(add: Add): void {
  const place = make('bdi');
  const call = make('strong');
  const hint = make('span.place', icon('files'), place);
  const veil = make('div.drop', { hidden: true }, icon('upload'), call, hint);
  document.body.append(veil);
  let depth = 0;
  const bringsFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true;
  const isWanted = (event: DragEvent) => bringsFiles(event) && may('write') && !document.querySelector('dialog[open]');
  const show = (change: number) => {
    depth = Math.max(0, depth + change);
    place.textContent = document.querySelector('.crumbs [aria-current]')?.textContent ?? '';
    hint.hidden = place.textContent === '';
    call.textContent = text(may('create-folder') ? 'dropHere' : 'dropFiles');
    veil.hidden = depth === 0;
  };
  document.addEventListener('dragenter', (event) => isWanted(event) && show(1));
  document.addEventListener('dragleave', (event) => isWanted(event) && show(-1));
  document.addEventListener('dragover', (event) => bringsFiles(event) && event.preventDefault());
  document.addEventListener('drop', (event) => {
    show(Number.NEGATIVE_INFINITY);
    if (!event.dataTransfer || !bringsFiles(event)) return;
    event.preventDefault();
    if (isWanted(event)) void take(event.dataTransfer, add);
  });
}

/** Uploads dropped or pasted files, and folders with all their content. It must be called while the event is being handled. */
async function take(transfer: DataTransfer, add: Add, rename?: (upload: Upload) => void): Promise<void> {
  const home = folderUrl();
  const onConflict = conflictRule();
  const mayCreateFolder = may('create-folder');
  const uploads: Upload[] = [];
  const emptyFolders: string[] = [];

  const gather = async (entry: FileSystemEntry, folder: string) => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      uploads.push(newUpload(file, home, folder, onConflict));
      return;
    }
    if (!mayCreateFolder) {
      notice(text('noFolders'), 'error');
      return;
    }
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (let count = 0; ; ) {
      // A reader returns at most 100 entries at a time. An empty list means the end.
      const members = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (members.length === 0 && count === 0) emptyFolders.push(path);
      if (members.length === 0) return;
      count += members.length;
      for (const member of members) await gather(member, path);
    }
  };

  // The items disappear when the event has been handled, so they are read before the first `await`.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (entries.length === 0) uploads.push(...[...transfer.files].map((file) => newUpload(file, home, '', onConflict)));
  for (const entry of entries) await gather(entry, '');
  if (rename) uploads.forEach(rename);
  add(uploads, emptyFolders);
}
