import { escapeInvisible } from '../../../../lib/display-name.ts';
import { fileIconClasses } from '../../../../lib/media-types.ts';
import { icon, make, makeButton } from '../../../shared/dom.ts';
import { formatTag, sizeText } from '../../../shared/locale.ts';
import { text } from '../../language.ts';
import { growingList } from '../growing-list.ts';
import { type PreviewTextName, previewText } from '../preview-text.ts';
import { Refusal, type RemoteFile } from '../remote-file.ts';
import { showText } from '../text/text-preview.ts';
import { Archive } from './archive.ts';
import { tailBytes, ZipFault, type ZipFaultReason, type ZipMember } from './zip-member.ts';

/** Shows a member that is a text. @throws ZipFault */
function showMember(archive: Archive, member: ZipMember, signal: AbortSignal): Promise<HTMLElement> {
  const { name, sizeBytes } = member;
  const start = (lengthBytes: number) => readStart(archive.content(member, signal), lengthBytes, sizeBytes);
  return showText({ name, sizeBytes, place: undefined, start }, signal);
}

/** The first bytes of a content. What is wanted whole is read to its end, where it is checked; else no more of it is unpacked. */
async function readStart(content: AsyncGenerator<Uint8Array>, lengthBytes: number, sizeBytes: number): Promise<Uint8Array> {
  const first = new Uint8Array(lengthBytes);
  let at = 0;
  for await (const piece of content) {
    first.set(piece.subarray(0, lengthBytes - at), at);
    at += Math.min(piece.length, lengthBytes - at);
    if (at === lengthBytes && lengthBytes < sizeBytes) break;
  }
  return first;
}

/** A larger member is not unpacked, in bytes: the browser has to hold it as a whole. */
const maxBytes = 500_000_000;

/** Unpacked bytes of this size become a Blob, which the browser may keep on its disk. */
const partBytes = 8 * 1024 * 1024;

/** A member as a file without a type, so that the browser saves it. @throws ZipFault */
async function memberFile(archive: Archive, member: ZipMember, signal: AbortSignal): Promise<Blob> {
  if (member.sizeBytes > maxBytes) throw new ZipFault('too-large');
  const type = 'application/octet-stream';
  const parts: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const piece of archive.content(member, signal)) {
    pieces.push(piece as Uint8Array<ArrayBuffer>);
    size += piece.length;
    if (size < partBytes) continue;
    parts.push(new Blob(pieces, { type }));
    [pieces, size] = [[], 0];
  }
  return new Blob([...parts, ...pieces], { type });
}

const texts: Readonly<Record<ZipFaultReason, PreviewTextName>> = {
  'no-archive': 'noArchive',
  damaged: 'damagedArchive',
  encrypted: 'encryptedMember',
  'unknown-packing': 'unknownPacking',
  'in-parts': 'archiveInParts',
  'too-large': 'tooLargeToUnpack',
};

/** The fault of an archive or a member, for people. @throws `error` when it is another one */
function faultText(error: unknown): string {
  if (error instanceof ZipFault) return previewText(texts[error.reason]);
  if (error instanceof Refusal) return error.message;
  throw error;
}

/** Members that each step of the list shows. */
const batch = 500;

/** The end of an archive tells where its directory is; a short one is there with that. */
export const firstBytes = -tailBytes;

const time = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short' });

/** How long the browser has to take a file that is saved, in milliseconds. */
const savingMs = 60_000;

/** Lists the members of a ZIP archive, which can be saved and, if texts, shown. @param signal ends all work on it */
export async function show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement> {
  try {
    const archive = await Archive.open(file);
    return await new ArchiveView(archive, signal).open();
  } catch (error) {
    return make('p.trouble', { role: 'alert' }, text('error', { reason: faultText(error) }));
  }
}

class ArchiveView {
  readonly #archive: Archive;
  readonly #signal: AbortSignal;
  readonly #count = make('p.hint', { role: 'status' });
  readonly #problem = make('p', { role: 'alert' });
  readonly #content = make('div');
  readonly #place = make('div.archive-content', this.#problem, this.#content);

  constructor(archive: Archive, signal: AbortSignal) {
    this.#archive = archive;
    this.#signal = signal;
  }

  async open(): Promise<HTMLElement> {
    const list = await growingList({ next: () => this.#next(), isAtEnd: () => this.#archive.isAtEnd }, 'members');
    this.#content.replaceChildren(this.#count, list);
    return this.#place;
  }

  async #next(): Promise<HTMLElement[]> {
    const before = this.#archive.members.length;
    const read = this.#archive.next(batch);
    // Members that were read stay.
    await (before === 0 ? read : this.#tried(read));
    const { members, count, isAtEnd } = this.#archive;
    const all = previewText('members', { count });
    this.#count.textContent = isAtEnd ? all : `${all} ${previewText('membersShown', { count: members.length })}`;
    return members.slice(before).map((member) => this.#item(member));
  }

  /** Waits for something, and tells the reader when it fails. */
  async #tried<T>(work: Promise<T>): Promise<T | undefined> {
    this.#problem.textContent = '';
    try {
      return await work;
    } catch (error) {
      if (!this.#signal.aborted) this.#problem.textContent = text('error', { reason: faultText(error) });
      return undefined;
    }
  }

  #item(member: ZipMember): HTMLElement {
    const look = member.isFolder ? 'folder' : fileIconClasses(member.name);
    const name = make('bdi', escapeInvisible(member.name));
    const isText = !member.isFolder && look.split(' ').includes('text');
    const shown = isText ? this.#opener(member, look, name) : make('span', { className: `i ${look}` }, name);
    const changed = member.modifiedMs === undefined ? [] : [time.format(member.modifiedMs)];
    const about = [member.isFolder ? previewText('folder') : sizeText(member.sizeBytes), ...changed].join(' · ');
    return make('li', shown, make('span.hint', about), !member.isFolder && this.#saver(member));
  }

  #opener(member: ZipMember, look: string, name: HTMLElement): HTMLElement {
    const button = make('button', { type: 'button', className: `plain i ${look}` }, name);
    button.addEventListener('click', () => void this.#show(member, button));
    return button;
  }

  async #show(member: ZipMember, opener: HTMLElement): Promise<void> {
    const list = [...this.#content.childNodes];
    const stage = this.#place.closest('.stage');
    const top = stage?.scrollTop ?? 0;
    const back = makeButton(previewText('backToArchive'), 'left', () => {
      this.#problem.textContent = '';
      this.#content.replaceChildren(...list);
      stage?.scrollTo({ top });
      opener.focus({ preventScroll: true });
    });
    const heading = make('h3', make('bdi', escapeInvisible(member.name)));
    const shown = make('div.member');
    this.#content.replaceChildren(make('div.member-head', back, heading, this.#saver(member)), shown);
    back.focus();
    const content = await this.#tried(showMember(this.#archive, member, this.#signal));
    if (content) shown.replaceChildren(content);
  }

  #saver(member: ZipMember): HTMLElement {
    const label = previewText('downloadName', { name: escapeInvisible(member.name) });
    const attributes = { 'aria-label': label };
    const button = make('button.save', { type: 'button', title: text('download'), attributes }, icon('download'));
    button.addEventListener('click', async () => {
      button.disabled = true;
      const file = await this.#tried(memberFile(this.#archive, member, this.#signal));
      button.disabled = false;
      if (file) save(file, member.name.slice(member.name.lastIndexOf('/') + 1));
    });
    return button;
  }
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  setTimeout(() => URL.revokeObjectURL(url), savingMs);
  make('a', { href: url, download: name }).click();
}
