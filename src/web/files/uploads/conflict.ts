import { nameInText } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { shortTime } from '../../shared/dates.ts';
import { ask } from '../../shared/dialogs.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { addStyle } from '../../shared/parts.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { kindOfFile } from '../rows/rows.ts';
import { drawPicture, readPart } from '../thumbnails/thumbnail-of.ts';
import style from './conflict.css';
import { tryRequest, uploadUrl } from './requests.ts';
import { nextName, type Upload } from './upload.ts';
import { type UploadTextName, uploadText } from './upload-text.ts';

addStyle(style);

export type ConflictChoice = 'overwrite' | 'keep-both' | 'skip';

let forAll: ConflictChoice | undefined;
let before: Promise<unknown> = Promise.resolve();

/** Forgets the answer that the user gave for all further conflicts. */
export function forgetAnswer(): void {
  forAll = undefined;
}

/**
 * Asks what to do with a file whose name is taken, unless the user has answered for all files. Only one question is open at a time.
 * @param askRoom returns the free bytes of the quota; undefined without a quota
 */
export async function resolveConflict(upload: Upload, askRoom: () => Promise<number | undefined>): Promise<void> {
  Object.assign(upload, { sentBytes: 0, foundBytes: 0 });
  const decision = upload.onConflict === 'ask' ? await decide(upload, askRoom) : upload.onConflict;
  if (upload.state !== 'running') return;
  if (decision === 'skip') {
    upload.state = 'skipped';
    return;
  }
  upload.onConflict = decision;
  if (decision === 'keep-both') upload.name = nextName(upload.name);
}

function decide(upload: Upload, askRoom: () => Promise<number | undefined>): Promise<ConflictChoice> {
  const decision = before.then(() => forAll ?? question(upload, askRoom));
  before = decision;
  return decision;
}

interface Facts {
  /** Undefined for a folder. */
  sizeBytes: number | undefined;
  /** Unix time in whole seconds. */
  modified: number;
  read: Parameters<typeof drawPicture>[1];
}

interface Question {
  title: string;
  question: string;
  name: string;
  /** The existing item and the new one, each with its heading; undefined if the account may not see the existing item. */
  versions: [here: [string, Facts], arriving: [string, Facts]] | undefined;
  mayOverwrite: boolean;
  mayRepeat: boolean;
  /** The free bytes, if they limit what may arrive. */
  roomBytes?: number | undefined;
  stays?: boolean;
}

async function question(upload: Upload, askRoom: () => Promise<number | undefined>): Promise<ConflictChoice> {
  const { name, file } = upload;
  const [present, roomBytes] = await Promise.all([fetchFacts(uploadUrl(upload)), askRoom()]);
  const own = {
    sizeBytes: file.size,
    modified: Math.floor(file.lastModified / 1000),
    read: async (firstBytes?: number) => file.slice(0, firstBytes),
  };
  const { choice, isForAll } = await askTaken({
    title: uploadText('conflict', { name: nameInText(name) }),
    question: uploadText('conflictQuestion'),
    name,
    versions: present && [
      [uploadText('fileHere'), present],
      [uploadText('fileNew'), own],
    ],
    mayOverwrite: may('overwrite'),
    mayRepeat: true,
    roomBytes,
    stays: true,
  });
  if (isForAll) forAll = choice ?? 'skip';
  return choice ?? 'skip';
}

/** Asks what to do with a file or folder whose name is taken. @returns no choice if the user closed the question */
export async function askTaken(asked: Question): Promise<{ choice: ConflictChoice | undefined; isForAll: boolean }> {
  const always = make('input', { type: 'checkbox' });
  const [here, arriving] = asked.versions ?? [];
  const choices: ConflictChoice[] = ['skip', 'overwrite', 'keep-both'];
  const [there, own] = [here?.[1], arriving?.[1]];
  const { roomBytes: free = Number.POSITIVE_INFINITY } = asked;
  const needed = own?.sizeBytes ?? 0;
  const isTight = needed > free;
  // The service counts the room of a file that is replaced as free.
  const mayFit = asked.mayOverwrite && needed <= free + (there?.sizeBytes ?? 0);
  const advice = isTight ? (mayFit ? 'overwrite' : 'skip') : there && own && isSame(there, own) ? 'skip' : 'keep-both';
  const button = (value: ConflictChoice, label: UploadTextName, disabled = false) => {
    return { value, label: uploadText(label), disabled, ...(value === advice && { kind: 'primary' as const }) };
  };
  const answer = await ask({
    title: asked.title,
    content: [
      here && arriving && make('dl.versions', ...version(asked.name, here, arriving[1]), ...version(asked.name, arriving, here[1], true)),
      isTight && make('p.hint', uploadText('roomLacks', { needed: sizeText(needed), free: sizeText(free) })),
      make('p', asked.question),
      asked.mayRepeat && make('label.line', always, uploadText('forAll')),
    ],
    buttons: [
      button('skip', 'skip'),
      ...(asked.mayOverwrite ? [button('overwrite', 'overwrite')] : []),
      button('keep-both', 'keepBoth', isTight),
    ],
    focusOn: advice,
    stays: asked.stays === true,
  });
  return { choice: choices.find((choice) => choice === answer), isForAll: always.checked };
}

/** Fetches size and time of the existing file. @returns undefined if the account may not read it */
async function fetchFacts(url: string): Promise<Facts | undefined> {
  const reply = await tryRequest('HEAD', url);
  const modifiedMs = Date.parse(reply?.headers.get('last-modified') ?? '');
  if (!reply?.ok || Number.isNaN(modifiedMs)) return undefined;
  const sizeBytes = Number(reply.headers.get('content-length'));
  return { sizeBytes, modified: modifiedMs / 1000, read: (firstBytes) => readPart(url, firstBytes) };
}

function isSame(one: Facts, other: Facts): boolean {
  return one.sizeBytes !== undefined && one.sizeBytes === other.sizeBytes && one.modified === other.modified;
}

function version(name: string, [label, facts]: [string, Facts], other: Facts, isArriving = false): HTMLElement[] {
  const { sizeBytes } = facts;
  const classes = sizeBytes === undefined ? 'folder' : fileIconClasses(name);
  const picture = make('span', { className: `i ${classes}`, ariaHidden: 'true' });
  if (sizeBytes !== undefined && kindOfFile(name, classes.split(' ')) === 'image') void showPicture(picture, sizeBytes, facts.read);
  const age = Math.sign(facts.modified - other.modified);
  const mark = age > 0 ? uploadText('newer') : age === 0 && isArriving ? uploadText(isSame(facts, other) ? 'sameAll' : 'sameTime') : '';
  const lines = [
    make('span', sizeBytes === undefined ? text('folder') : sizeText(sizeBytes)),
    make('span', shortTime(facts.modified * 1000)),
    mark !== '' && make('strong', mark),
  ];
  return [make('dt', label), make('dd', picture, make('span.facts', ...lines))];
}

/** Replaces the icon of a picture by a small version of the picture. Other files keep their icon. */
async function showPicture(place: HTMLElement, sizeBytes: number, read: Facts['read']): Promise<void> {
  const drawn = await drawPicture(sizeBytes, read).catch(() => undefined);
  if (!drawn) return;
  place.className = 'drawn';
  place.replaceChildren(drawn);
}
