import { nameInText } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { shortTime } from '../../shared/dates.ts';
import { ask } from '../../shared/dialogs.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { kindOfFile } from '../rows/rows.ts';
import { drawPicture, readPart } from '../thumbnails/thumbnail-of.ts';
import { tryRequest, uploadUrl } from './requests.ts';
import { nextName, type Upload } from './upload.ts';
import { uploadText } from './upload-text.ts';

/** Choices for a file whose name is taken. */
type ConflictChoice = 'overwrite' | 'keep-both' | 'skip';

let forAll: ConflictChoice | undefined;
let before: Promise<unknown> = Promise.resolve();

/** Forgets the answer that the user gave for all further conflicts. */
export function forgetAnswer(): void {
  forAll = undefined;
}

/** Asks what to do with a file whose name is taken, unless the user has answered for all files. Only one question is open at a time. */
export async function resolveConflict(upload: Upload): Promise<void> {
  Object.assign(upload, { sentBytes: 0, foundBytes: 0 });
  const decision = upload.onConflict === 'ask' ? await decide(upload) : upload.onConflict;
  if (upload.state !== 'running') return;
  if (decision === 'skip') {
    upload.state = 'skipped';
    return;
  }
  upload.onConflict = decision;
  if (decision === 'keep-both') upload.name = nextName(upload.name);
}

function decide(upload: Upload): Promise<ConflictChoice> {
  const decision = before.then(() => forAll ?? question(upload));
  before = decision;
  return decision;
}

/** Information about a file in a question. */
interface Facts {
  sizeBytes: number;
  /** Unix time in whole seconds. */
  modified: number;
  read: Parameters<typeof drawPicture>[1];
}

async function question(upload: Upload): Promise<ConflictChoice> {
  const { name, file } = upload;
  const always = make('input', { type: 'checkbox' });
  const present = await fetchFacts(uploadUrl(upload));
  const own = {
    sizeBytes: file.size,
    modified: Math.floor(file.lastModified / 1000),
    read: async (firstBytes?: number) => file.slice(0, firstBytes),
  };
  const answer = await ask({
    title: uploadText('conflict', { name: nameInText(name) }),
    content: [
      present && make('dl.versions', ...version(name, 'fileHere', present, own), ...version(name, 'fileNew', own, present)),
      make('p', uploadText('conflictQuestion')),
      make('label.line', always, uploadText('forAll')),
    ],
    buttons: [
      { value: 'skip', label: uploadText('skip') },
      ...(may('overwrite') ? [{ value: 'overwrite', label: text('overwrite') }] : []),
      { value: 'keep-both', label: uploadText('keepBoth'), kind: 'primary' },
    ],
    focusOn: 'keep-both',
    stays: true,
  });
  const decision = answer === 'overwrite' || answer === 'keep-both' ? answer : 'skip';
  if (always.checked) forAll = decision;
  return decision;
}

/** Fetches size and time of the existing file. @returns undefined if the account may not read it */
async function fetchFacts(url: string): Promise<Facts | undefined> {
  const reply = await tryRequest('HEAD', url);
  const modifiedMs = Date.parse(reply?.headers.get('last-modified') ?? '');
  if (!reply?.ok || Number.isNaN(modifiedMs)) return undefined;
  const sizeBytes = Number(reply.headers.get('content-length'));
  return { sizeBytes, modified: modifiedMs / 1000, read: (firstBytes) => readPart(url, firstBytes) };
}

function version(name: string, label: 'fileHere' | 'fileNew', facts: Facts, other: Facts): HTMLElement[] {
  const picture = make('span', { className: `i ${fileIconClasses(name)}`, ariaHidden: 'true' });
  if (kindOfFile(name, fileIconClasses(name).split(' ')) === 'image') void showPicture(picture, facts);
  const age = Math.sign(facts.modified - other.modified);
  const mark = age > 0 ? uploadText('newer') : age === 0 && label === 'fileNew' ? uploadText('sameTime') : '';
  const lines = [
    make('span', sizeText(facts.sizeBytes)),
    make('span', shortTime(facts.modified * 1000)),
    mark !== '' && make('strong', mark),
  ];
  return [make('dt', uploadText(label)), make('dd', picture, make('span.facts', ...lines))];
}

/** Replaces the icon of a picture by a small version of the picture. Other files keep their icon. */
async function showPicture(place: HTMLElement, { sizeBytes, read }: Facts): Promise<void> {
  const drawn = await drawPicture(sizeBytes, read).catch(() => undefined);
  if (!drawn) return;
  place.className = 'drawn';
  place.replaceChildren(drawn);
}
