import { eventIds } from '../../events/event-ids.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { SshClient } from '../ssh-client.ts';
import type { OpenHandle } from './open-handles.ts';
import type { Uploads } from './open-upload.ts';
import type { Attributes } from './packets/packets.ts';
import { attributesReply } from './packets/replies.ts';

/** What the requests of one session do that ask for attributes, or set them. */
export class AttributeRequests {
  readonly #client: SshClient;
  readonly #uploads: Uploads;
  readonly #isTemporaryName: (name: string) => boolean;

  constructor(client: SshClient, uploads: Uploads, isTemporaryName: (name: string) => boolean) {
    this.#client = client;
    this.#uploads = uploads;
    this.#isTemporaryName = isTemporaryName;
  }

  /** What is at a path, which may be an upload under way. @throws ServiceError */
  async entry(path: VirtualPath): Promise<Entry> {
    const upload = this.#uploads.at(path);
    const entry = this.#client.files.inspect(path);
    if (upload) return upload.entry();
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    return entry;
  }

  /** The reply to a request for attributes; events `sftpAttributesRead`, `sftpAttributesReadFailed` where they are wanted. */
  async reply(id: number, files: AccountFiles, path: VirtualPath, looking: Promise<Entry>): Promise<Buffer> {
    const isTold = this.#client.options.attribute_events;
    try {
      const reply = attributesReply(id, toAttributes(await looking));
      if (isTold) files.emit(eventIds.sftpAttributesRead, path);
      return reply;
    } catch (error) {
      throw isTold ? files.reported(eventIds.sftpAttributesReadFailed, path, error) : error;
    }
  }

  async setPath(files: AccountFiles, path: VirtualPath, attributes: Attributes): Promise<void> {
    const upload = this.#uploads.at(path);
    const change = toChange(attributes);
    if (attributes.sizeBytes !== undefined)
      await (upload ? upload.truncate(attributes.sizeBytes) : this.#resize(files, path, attributes.sizeBytes));
    if (hasChange(change)) await (upload ? upload.setAttributes(change) : files.setAttributes(path, change));
  }

  async setOpened(opened: OpenHandle, attributes: Attributes): Promise<void> {
    const { mode, ...others } = toChange(attributes);
    const change = this.#client.options.ignore_create_permissions ? others : { mode, ...others };
    if (attributes.sizeBytes !== undefined) await opened.truncate(attributes.sizeBytes);
    if (hasChange(change)) await opened.setAttributes(change);
  }

  /** The mode of what a client makes, as far as it is heeded. */
  newMode({ mode }: Attributes): number | undefined {
    return mode === undefined || this.#client.options.ignore_create_permissions ? undefined : mode & 0o777;
  }

  async #resize(files: AccountFiles, path: VirtualPath, sizeBytes: number): Promise<void> {
    const upload = await files.openRandomUpload(path, {
      create: false,
      exclusive: false,
      truncate: sizeBytes === 0,
      copyLimitBytes: this.#client.options.copy_on_resume_limit,
      isTemporaryName: this.#isTemporaryName,
    });
    // A failure fails the commit, too.
    await upload.truncate(sizeBytes).catch(() => {});
    await upload.commit();
  }
}

const folderType = 0o040000;
const fileType = 0o100000;
const maxSeconds = 0xffff_ffff;

/** Attributes of an entry as clients read them. */
export function toAttributes(entry: Entry): Attributes {
  return {
    sizeBytes: entry.sizeBytes,
    owner: { uid: entry.uid, gid: entry.gid },
    mode: (entry.isFolder ? folderType : fileType) | (entry.mode & 0o777),
    times: { accessedS: toSeconds(entry.accessedMs), modifiedS: toSeconds(entry.modifiedMs) },
  };
}

function toSeconds(timeMs: number): number {
  return Math.min(maxSeconds, Math.max(0, Math.floor(timeMs / 1000)));
}

/** What a client wants to be set, but for the size. */
export function toChange({ times, mode, owner }: Attributes): AttributeChange {
  return { times: times && { accessedMs: times.accessedS * 1000, modifiedMs: times.modifiedS * 1000 }, mode, owner };
}

/** Whether anything but the size is to be set. */
export function hasChange({ times, mode, owner }: AttributeChange): boolean {
  return times !== undefined || mode !== undefined || owner !== undefined;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const halfYearMs = 182 * 86_400_000;
const permissionTexts = Array.from({ length: 0o1000 }, (_, mode) =>
  [...'rwxrwxrwx'].map((letter, index) => (mode & (0o400 >> index) ? letter : '-')).join(''),
);

/**
 * A line about an entry as `ls -l` writes it, in local time.
 *
 * @param owner name that stands for the owner and the group
 * @param nowMs Unix time in milliseconds: what is older than half a year has its year instead of the time of day
 */
export function listingLine(entry: Entry, owner: string, nowMs: number): string {
  const date = new Date(entry.modifiedMs);
  const isRecent = Math.abs(nowMs - entry.modifiedMs) < halfYearMs;
  const time = isRecent ? `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}` : String(date.getFullYear()).padStart(5);
  const day = `${months[date.getMonth()]} ${String(date.getDate()).padStart(2)} ${time}`;
  const permissions = permissionTexts[entry.mode & 0o777];
  const name = owner.padEnd(8);
  return `${entry.isFolder ? 'd' : '-'}${permissions}    1 ${name} ${name} ${String(entry.sizeBytes).padStart(12)} ${day} ${entry.name}`;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
