import { escapeInvisible } from '../../../../lib/display-name.ts';
import { fileIconClasses } from '../../../../lib/media-types.ts';
import { icon, make, makeButton } from '../../../shared/dom.ts';
import { formatTag, sizeText } from '../../../shared/locale.ts';
import { text } from '../../language.ts';
import { openPart } from '../../navigation/history.ts';
import { growingList } from '../growing-list.ts';
import { type PreviewTextName, previewText } from '../preview-text.ts';
import { Refusal, type RemoteFile } from '../remote-file.ts';
import { showText } from '../text/text-preview.ts';
import { type Archive, openArchive } from './archive.ts';
import { tailBytes, ZipFault, type ZipFaultReason, type ZipMember } from './zip-member.ts';

function showMember(archive: Archive, member: ZipMember, signal: AbortSignal): Promise<HTMLElement> {
  const { name, sizeBytes } = member;
  const start = (lengthBytes: number) => readStart(archive.content(member, signal), lengthBytes, sizeBytes);
  return showText({ name, sizeBytes, place: undefined, start }, signal);
}

/** Reads the first bytes of a member. If the whole member is requested, reads to its end, where the CRC-32 is checked. */
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

/** Maximum size in bytes of a member that is unpacked. The browser has to hold the whole member. */
const maxBytes = 500_000_000;

/** Size, in bytes, of the parts that become Blobs during unpacking. The browser can move Blobs from memory to disk. */
const partBytes = 8 * 1024 * 1024;

/** Unpacks a member into a Blob of a generic type, so that the browser saves it and does not show it. @throws ZipFault */
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

/** Returns a message for the user about a fault of an archive or a member. @throws `error` if it is any other error */
function faultText(error: unknown): string {
  if (error instanceof ZipFault) return previewText(texts[error.reason]);
  if (error instanceof Refusal) return error.message;
  throw error;
}

/** Number of members that each step adds to the list. */
const batch = 500;

/**
 * Number of bytes at the end of an archive that are read first, as a negative number. They contain the position of the central directory,
 * or all of a short archive.
 */
export const firstBytes = -tailBytes;

const { compare } = new Intl.Collator(formatTag, { numeric: true });

const time = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short' });

/** Time in milliseconds after which the URL of a saved file is revoked. By then, the browser has saved the file. */
const savingMs = 60_000;

/** Lists the members of a ZIP archive. Files can be saved, and text files can be shown. @param signal ends all work on the archive */
export async function show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement> {
  try {
    const archive = await openArchive(file);
    return await archiveView(archive, signal);
  } catch (error) {
    const isUnreadable = error instanceof ZipFault && (error.reason === 'no-archive' || error.reason === 'damaged');
    const message = isUnreadable ? previewText('noArchive') : text('error', { reason: faultText(error) });
    return make('p.trouble', { role: 'alert' }, message);
  }
}

function folderOf({ name }: ZipMember): string {
  return name.slice(0, name.lastIndexOf('/') + 1);
}

function compareMembers(a: ZipMember, b: ZipMember): number {
  return compare(folderOf(a), folderOf(b)) || compare(a.name, b.name);
}

async function archiveView(archive: Archive, signal: AbortSignal): Promise<HTMLElement> {
  const count = make('p.hint', { role: 'status' });
  const problem = make('p', { role: 'alert' });
  const content = make('div');
  const element = make('div.archive-content', problem, content);

  const tried = async <T>(work: Promise<T>): Promise<T | undefined> => {
    problem.textContent = '';
    try {
      return await work;
    } catch (error) {
      if (!signal.aborted) problem.textContent = text('error', { reason: faultText(error) });
      return undefined;
    }
  };

  // The folder of the last listed member. Its files are below it, without the path in their names.
  let group = '';
  const nextItems = async () => {
    const before = archive.members.length;
    const read = archive.next(batch);
    // If the first step fails, the caller shows the error instead of a list. If a later step fails, the list stays.
    await (before === 0 ? read : tried(read));
    const { members } = archive;
    const all = previewText('members', { count: archive.count() });
    count.textContent = archive.isAtEnd() ? all : `${all} ${previewText('membersShown', { count: members.length })}`;
    const added = members.slice(before);
    // Only the members of a complete list are sorted. Members that are read later could belong between them.
    const sorted = before === 0 && archive.isAtEnd() ? added.sort(compareMembers) : added;
    return sorted.flatMap((member) => {
      const last = group;
      group = folderOf(member);
      return member.isFolder || group === last || group === '' ? item(member) : [head(group), item(member)];
    });
  };

  const head = (folder: string, ...facts: string[]) => {
    const name = make('bdi', escapeInvisible(folder));
    const about = [previewText('folder'), ...facts].join(' ·\u00a0');
    return make('li', make('span.i.folder', name), make('span.hint', about));
  };

  const item = (member: ZipMember) => {
    const changed = member.modifiedMs === undefined ? [] : [time.format(member.modifiedMs).replaceAll(' ', '\u00a0')];
    if (member.isFolder) return head(member.name, ...changed);
    const look = fileIconClasses(member.name);
    const folder = folderOf(member);
    const name = make('bdi', escapeInvisible(member.name.slice(folder.length)));
    const shown = look.split(' ').includes('text') ? openButton(member, look, name) : make('span', { className: `i ${look}` }, name);
    const about = [sizeText(member.sizeBytes).replaceAll(' ', '\u00a0'), ...changed].join(' ·\u00a0');
    return make(folder === '' ? 'li' : 'li.nested', shown, make('span.hint', about), saver(member));
  };

  const openButton = (member: ZipMember, look: string, name: HTMLElement) => {
    const button = make('button', { type: 'button', className: `plain i ${look}` }, name);
    button.addEventListener('click', () => void open(member, button));
    return button;
  };

  const open = async (member: ZipMember, opener: HTMLElement) => {
    const list = [...content.childNodes];
    const stage = element.closest('.stage');
    const top = stage?.scrollTop ?? 0;
    openPart(() => {
      problem.textContent = '';
      content.replaceChildren(...list);
      stage?.scrollTo({ top });
      opener.focus({ preventScroll: true });
    });
    const back = makeButton(previewText('backToArchive'), 'left', () => history.back());
    const heading = make('h3', make('bdi', escapeInvisible(member.name)));
    const shown = make('div.member');
    content.replaceChildren(make('div.member-head', back, heading, saver(member)), shown);
    back.focus();
    const opened = await tried(showMember(archive, member, signal));
    if (opened) shown.replaceChildren(opened);
  };

  const saver = (member: ZipMember) => {
    const ariaLabel = previewText('downloadName', { name: escapeInvisible(member.name) });
    const button = make('button.save', { type: 'button', title: text('download'), ariaLabel }, icon('download'));
    button.addEventListener('click', async () => {
      button.disabled = true;
      const file = await tried(memberFile(archive, member, signal));
      button.disabled = false;
      if (file) save(file, member.name.slice(member.name.lastIndexOf('/') + 1));
    });
    return button;
  };

  const list = await growingList({ next: nextItems, isAtEnd: archive.isAtEnd }, 'members');
  content.replaceChildren(count, list);
  return element;
}

function save(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  setTimeout(() => URL.revokeObjectURL(url), savingMs);
  make('a', { href: url, download: name }).click();
}
