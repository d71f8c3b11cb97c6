import { byId, icon, make, makeButton } from '../dom.ts';
import { text } from '../language.ts';
import { askMetadata } from '../metadata.ts';
import { notice } from '../notices.ts';
import { refreshRows } from '../rows.ts';
import { chosenFiles, droppedFiles } from './dropped-files.ts';
import { ensureFolder } from './folders.ts';
import { UploadPanel } from './panel.ts';
import { UploadQueue } from './queue.ts';
import { Unfinished } from './unfinished.ts';
import type { Upload } from './upload.ts';

/** Starts uploads: the buttons, drag and drop, and the queue with its panel. */
export function startUploads(mayCreateFolder: boolean): void {
  const panel = new UploadPanel(() => queue);
  const queue: UploadQueue = new UploadQueue(
    () => panel.update(),
    (ended) => {
      const message = resultOf(ended);
      if (message !== undefined) panel.say(message);
      void refreshRows();
    },
  );
  const send = (uploads: Upload[]) => {
    queue.add(uploads);
    for (const { location } of uploads) if (location !== undefined) unfinished.remove(location);
  };
  const unfinished = new Unfinished(send);
  unfinished.start();
  const add = (uploads: Upload[]) => {
    void askMetadata(uploads).then((isGiven) => isGiven && send(uploads));
  };
  byId('tools').prepend(...buttons(add, mayCreateFolder));
  startDrops(add, mayCreateFolder);
  window.addEventListener('beforeunload', (event) => {
    if (queue.isBusy) event.preventDefault();
  });
  // A ZIP or a trigger must not take the page away while files are on their way.
  byId('members').addEventListener('submit', (event) => {
    (event.currentTarget as HTMLFormElement).target = queue.isBusy ? '_blank' : '';
  });
}

function resultOf(uploads: readonly Upload[]): string | undefined {
  const failed = uploads.filter((upload) => upload.state === 'failed').length;
  const done = uploads.filter((upload) => upload.state === 'done').length;
  if (failed > 0) return text('someFailed', { count: failed });
  return done > 0 ? text('allDone', { count: done }) : undefined;
}

function buttons(add: (uploads: Upload[]) => void, mayCreateFolder: boolean): HTMLElement[] {
  const files = picker(add, false);
  const folder = picker(add, true);
  return [
    makeButton(text('uploadFiles'), 'upload', () => files.click(), 'primary compact'),
    files,
    ...(mayCreateFolder ? [makeButton(text('uploadFolder'), 'uploadFolder', () => folder.click(), 'compact'), folder] : []),
  ];
}

function picker(add: (uploads: Upload[]) => void, isFolder: boolean): HTMLInputElement {
  const label = text(isFolder ? 'uploadFolder' : 'uploadFiles');
  const field = make('input', {
    type: 'file',
    multiple: true,
    hidden: true,
    webkitdirectory: isFolder,
    attributes: { 'aria-label': label },
  });
  field.addEventListener('change', () => {
    if (field.files) add(chosenFiles(field.files));
    field.value = '';
  });
  return field;
}

/** Without the right to write a dropped file is ignored; the browser would leave the page and open it. */
export function ignoreDrops(): void {
  for (const type of ['dragover', 'drop']) document.addEventListener(type, (event) => event.preventDefault());
}

function startDrops(add: (uploads: Upload[]) => void, mayCreateFolder: boolean): void {
  const folder = document.querySelector('.crumbs [aria-current]')?.textContent ?? '';
  const place = make('span', { className: 'place' }, icon('files'), make('bdi', {}, folder));
  const veil = make('div', { className: 'drop', hidden: true }, icon('upload'), make('strong', {}, text('dropHere')), place);
  document.body.append(veil);
  let depth = 0;
  const bringsFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true && !document.querySelector('dialog[open]');
  const show = (change: number) => {
    depth = Math.max(0, depth + change);
    veil.hidden = depth === 0;
  };
  document.addEventListener('dragenter', (event) => bringsFiles(event) && show(1));
  document.addEventListener('dragleave', (event) => bringsFiles(event) && show(-1));
  document.addEventListener('dragover', (event) => bringsFiles(event) && event.preventDefault());
  document.addEventListener('drop', (event) => {
    show(Number.NEGATIVE_INFINITY);
    if (!event.dataTransfer || !bringsFiles(event)) return;
    event.preventDefault();
    void take(event.dataTransfer);
  });
  const take = async (transfer: DataTransfer) => {
    const dropped = await droppedFiles(transfer);
    if (!mayCreateFolder) dropped.uploads = dropped.uploads.filter((upload) => upload.folder === '');
    add(dropped.uploads);
    const problems = mayCreateFolder ? await Promise.all(dropped.emptyFolders.map(ensureFolder)) : [];
    const problem = problems.find((candidate) => candidate !== undefined);
    if (problem !== undefined) notice(text('error', { reason: problem }), 'error');
    if (dropped.emptyFolders.length > 0 && dropped.uploads.length === 0) await refreshRows();
  };
}
