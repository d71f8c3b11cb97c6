import { displayName, nameInText } from '../../../lib/display-name.ts';
import { wholeTime } from '../../shared/dates.ts';
import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { addStyle } from '../../shared/parts.ts';
import { text } from '../language.ts';
import { askMetadata } from '../metadata.ts';
import { conflictRule, folderUrl } from '../navigation/folder.ts';
import { allRows, refreshRows, rowName } from '../rows/rows.ts';
import { forgetUpload, isKept, type KeptUpload, keptUploads, whenFree } from './kept-uploads.ts';
import { uploadPanel } from './panel.ts';
import { ensureFolder, makeQueue, type UploadQueue } from './queue.ts';
import { pauseAfter, tryRequest } from './requests.ts';
import { newUpload, type Upload, uploadPath } from './upload.ts';
import { uploadText } from './upload-text.ts';
import style from './uploads.css';

addStyle(style);

/**
 * Minimum time in milliseconds between two refreshes of the folder while files arrive. The pause is also at least `restPerLook` times as
 * long as a refresh takes.
 */
const lookEveryMs = 1000;
const restPerLook = 4;

const markedMs = 2000;

/** Names of files and folders that arrived in the current folder since its rows were read. */
let arrived = new Set<string>();
let isLooking = false;

async function look(): Promise<void> {
  if (isLooking) return;
  isLooking = true;
  let failures = 0;
  while (arrived.size > 0) {
    const names = arrived;
    arrived = new Set();
    const startedMs = performance.now();
    if (!(await refreshRows())) {
      for (const name of names) arrived.add(name);
      await pauseAfter(failures++);
      continue;
    }
    failures = 0;
    mark(names);
    const tookMs = performance.now() - startedMs;
    await new Promise((resolve) => setTimeout(resolve, queue.isBusy() ? Math.max(lookEveryMs, restPerLook * tookMs) : 0));
  }
  isLooking = false;
}

function mark(names: ReadonlySet<string>): void {
  const rows = allRows().filter((row) => names.has(rowName(row)));
  for (const row of rows) row.classList.add('fresh');
  setTimeout(() => {
    for (const row of rows) row.classList.remove('fresh');
  }, markedMs);
}

const panel = uploadPanel(() => queue);
const queue: UploadQueue = makeQueue(
  () => panel.update(),
  ({ home, folder, name }) => {
    if (home !== folderUrl()) return;
    arrived.add(folder.split('/')[0] || name);
    void look();
  },
  (ended) => {
    const message = resultMessage(ended);
    if (message !== undefined) panel.say(message);
    offerReceipt(ended);
    void (ended.some(({ home }) => home === folderUrl()) && look());
  },
);

let withdraw = (_location: string) => {};

window.addEventListener('beforeunload', (event) => {
  if (queue.isBusy()) event.preventDefault();
});

// While files are being sent, a ZIP download or a trigger opens another tab, because leaving the page would end the uploads.
document.addEventListener(
  'submit',
  ({ target }) => {
    if (target instanceof HTMLFormElement && target.matches('#members, .archive')) target.target = queue.isBusy() ? '_blank' : '';
  },
  { capture: true },
);

function resultMessage(uploads: readonly Upload[]): string | undefined {
  const failed = uploads.filter((upload) => upload.state === 'failed').length;
  const done = uploads.filter((upload) => upload.state === 'done').length;
  if (failed > 0) return uploadText('someFailed', { count: failed });
  const held = uploads.filter((upload) => upload.state === 'held' && !upload.isChecking).length;
  if (held > 0) return uploadText('someHeld', { count: held });
  return done > 0 ? uploadText('allDone', { count: done }) : undefined;
}

function send(uploads: Upload[]): void {
  queue.add(uploads);
  for (const { location } of uploads) if (location !== undefined) withdraw(location);
}

/** Asks for the metadata of files and then sends them. It also creates empty folders. */
export async function sendUploads(uploads: Upload[], home: string, emptyFolders: readonly string[] = []): Promise<void> {
  if (await askMetadata(uploads)) send(uploads);
  const problems = await Promise.all(emptyFolders.map((folder) => ensureFolder(home, folder)));
  const problem = problems.find((candidate) => candidate !== undefined);
  if (problem !== undefined) notice(text('error', { reason: problem }), 'error');
  if (emptyFolders.length > 0 && uploads.length === 0) await refreshRows();
}

/** Offers to continue the unfinished uploads to the current folder. */
export function offerToContinue(): void {
  withdraw = offerUnfinished(send);
}

/** Maximum number of files of one receipt. It matches the limit of the service. */
const filesOfReceipt = 200;

const receivedIds: string[] = [];
const receiptLinks = make('p.row');
const receiptLead = make('p.lead');
const receiptNotice = make('section.notice.success', { role: 'status', id: 'receipt' }, receiptLead, receiptLinks);

/** Shows a visitor who came through a shared link where to get the receipt for all sent files. Pages of accounts offer no receipts. */
function offerReceipt(ended: readonly Upload[]): void {
  const fresh = ended.flatMap(({ state, eventId }) => (state === 'done' && eventId !== undefined ? [eventId] : []));
  if (fresh.length === 0 || folderUrl().startsWith('/home/')) return;
  receivedIds.push(...fresh.filter((id) => !receivedIds.includes(id)));
  receiptLead.textContent = uploadText('filesArrived', { count: receivedIds.length });
  const links = [];
  for (let at = 0; at < receivedIds.length; at += filesOfReceipt) {
    const ids = receivedIds.slice(at, at + filesOfReceipt).join(',');
    links.push(make('a.button', { href: `receipt?ids=${ids}` }, icon('list'), uploadText('receipt')));
  }
  receiptLinks.replaceChildren(...links);
  byId('members').before(receiptNotice);
}

/**
 * Offers to continue the unfinished uploads to this folder. The user must choose each file again. Uploads that another tab is sending are
 * not offered.
 * @param add sends a file that was chosen again
 * @returns a function that withdraws the offer for an upload which has been continued
 */
function offerUnfinished(add: (uploads: Upload[]) => void): (location: string) => void {
  const lines = new Map<string, HTMLElement>();
  const taken = new Set<string>();
  const list = make('ul');
  const heading = make('h2', { id: 'unfinished' }, uploadText('unfinished'));
  const hint = make('p.hint', uploadText('unfinishedHint'));
  const element = make('section.unfinished', { attributes: { 'aria-labelledby': heading.id } }, heading, hint, list);

  const withdraw = (location: string) => {
    taken.add(location);
    lines.get(location)?.remove();
    lines.delete(location);
    if (lines.size === 0) element.remove();
  };

  const offer = async (kept: KeptUpload) => {
    const { location } = kept;
    if (!isKept(kept)) return;
    const reply = await tryRequest('HEAD', location);
    const isOver = reply?.headers.get('upload-complete') === '?1';
    if (isOver || reply?.status === 404 || reply?.status === 410) forgetUpload(kept);
    if (isOver || !reply?.ok || taken.has(location) || kept.home !== folderUrl()) return;
    const path = uploadPath(kept);
    const done = text('running', { done: sizeText(Number(reply.headers.get('upload-offset'))), total: sizeText(kept.size) });
    const field = make('input', { type: 'file', hidden: true, ariaLabel: uploadText('resume') + text('colon') + path });
    field.addEventListener('change', () => {
      if (field.files?.[0]) take(kept, field.files[0]);
      field.value = '';
    });
    const resume = makeButton(uploadText('resume'), undefined, () => field.click());
    const discard = makeButton(uploadText('discard'), undefined, () => drop(kept), 'quiet');
    for (const button of [resume, discard]) button.ariaLabel = button.textContent + text('colon') + path;
    const title = make('span.title', { title: displayName(path) }, make('bdi', displayName(path)));
    const line = make('li', title, make('span.hint', done), make('span.row', resume, discard), field);
    lines.set(location, line);
    list.append(line);
    byId('members').before(element);
  };

  const take = ({ fileName, size, lastModified, home, folder }: KeptUpload, file: File) => {
    if (file.name === fileName && file.size === size && file.lastModified === lastModified)
      add([newUpload(file, home, folder, conflictRule())]);
    else notice(uploadText('otherFile', { name: nameInText(fileName), size: sizeText(size), time: wholeTime(lastModified) }), 'error');
  };

  const drop = (kept: KeptUpload) => {
    forgetUpload(kept);
    withdraw(kept.location);
    void tryRequest('DELETE', kept.location);
  };

  for (const kept of keptUploads()) void whenFree(kept.location).then(() => offer(kept));
  return withdraw;
}
