import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { askMetadata } from '../metadata.ts';
import { conflictRule, folderUrl, may } from '../navigation/folder.ts';
import { refreshRows } from '../rows/rows.ts';
import { ensureFolder } from './folders.ts';
import { uploadPanel } from './panel.ts';
import { makeQueue, type UploadQueue } from './queue.ts';
import { offerUnfinished } from './unfinished.ts';
import { newUpload, pastedName, type Upload } from './upload.ts';

/** Takes files and pictures that are pasted anywhere but into a field. @param take takes them while the event is handled */
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

type Add = (uploads: Upload[]) => void;

/**
 * Starts uploads: drag and drop, and the queue with its panel, which goes on whichever folder is shown.
 *
 * @returns offers uploads to the folder that is shown
 */
export function startUploads(): () => void {
  const panel = uploadPanel(() => queue);
  const queue: UploadQueue = makeQueue(
    () => panel.update(),
    (ended) => {
      const message = resultMessage(ended);
      if (message !== undefined) panel.say(message);
      if (ended.some(({ home }) => home === folderUrl())) void refreshRows();
    },
  );
  let withdraw = (_location: string) => {};
  const send: Add = (uploads) => {
    queue.add(uploads);
    for (const { location } of uploads) if (location !== undefined) withdraw(location);
  };
  const add: Add = (uploads) => {
    void askMetadata(uploads).then((isGiven) => isGiven && send(uploads));
  };
  startDrops(add);
  startPaste((transfer, rename) => void (may('write') && take(transfer, add, rename)));
  window.addEventListener('beforeunload', (event) => {
    if (queue.isBusy()) event.preventDefault();
  });
  return () => {
    // A ZIP or a trigger must not take the page away while files are on their way.
    byId('members').addEventListener('submit', (event) => {
      if (event.currentTarget instanceof HTMLFormElement) event.currentTarget.target = queue.isBusy() ? '_blank' : '';
    });
    if (!may('write')) return;
    byId('tools').prepend(...buttons(add, may('create-folder')));
    withdraw = offerUnfinished(send);
  };
}

function resultMessage(uploads: readonly Upload[]): string | undefined {
  const failed = uploads.filter((upload) => upload.state === 'failed').length;
  const done = uploads.filter((upload) => upload.state === 'done').length;
  if (failed > 0) return text('someFailed', { count: failed });
  return done > 0 ? text('allDone', { count: done }) : undefined;
}

function buttons(add: Add, mayCreateFolder: boolean): HTMLElement[] {
  const files = picker(add, false);
  const folder = picker(add, true);
  return [
    makeButton(text('uploadFiles'), 'upload', () => files.click(), 'primary compact'),
    files,
    ...(mayCreateFolder ? [makeButton(text('uploadFolder'), 'uploadFolder', () => folder.click(), 'compact'), folder] : []),
  ];
}

function picker(add: Add, isFolder: boolean): HTMLInputElement {
  const label = text(isFolder ? 'uploadFolder' : 'uploadFiles');
  const field = make('input', { type: 'file', multiple: true, hidden: true, webkitdirectory: isFolder, ariaLabel: label });
  field.addEventListener('change', () => {
    // A field for folders tells the folder of each file.
    const folderOf = ({ webkitRelativePath }: File) => webkitRelativePath.split('/').slice(0, -1).join('/');
    add([...(field.files ?? [])].map((file) => newUpload(file, folderUrl(), folderOf(file), conflictRule())));
    field.value = '';
  });
  return field;
}

/** Files that are dropped are uploaded; without the right to write they are ignored, as the browser would leave the page and open them. */
function startDrops(add: Add): void {
  const place = make('bdi');
  const hint = make('span.place', icon('files'), place);
  const veil = make('div.drop', { hidden: true }, icon('upload'), make('strong', text('dropHere')), hint);
  document.body.append(veil);
  let depth = 0;
  const bringsFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') === true;
  const isWanted = (event: DragEvent) => bringsFiles(event) && may('write') && !document.querySelector('dialog[open]');
  const show = (change: number) => {
    depth = Math.max(0, depth + change);
    place.textContent = document.querySelector('.crumbs [aria-current]')?.textContent ?? '';
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

/** Takes what was dropped or pasted, whole folders with all they hold. Must be called while the event is handled. */
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
    if (!mayCreateFolder) return;
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (let count = 0; ; ) {
      // A reader gives at most 100 entries a time; an empty list is the end.
      const members = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (members.length === 0 && count === 0) emptyFolders.push(path);
      if (members.length === 0) return;
      count += members.length;
      for (const member of members) await gather(member, path);
    }
  };

  // The items are gone as soon as the event is over, so they are taken before the first wait.
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (entries.length === 0) uploads.push(...[...transfer.files].map((file) => newUpload(file, home, '', onConflict)));
  for (const entry of entries) await gather(entry, '');
  if (rename) uploads.forEach(rename);
  add(uploads);
  const problems = await Promise.all(emptyFolders.map((folder) => ensureFolder(home, folder)));
  const problem = problems.find((candidate) => candidate !== undefined);
  if (problem !== undefined) notice(text('error', { reason: problem }), 'error');
  if (emptyFolders.length > 0 && uploads.length === 0) await refreshRows();
}
