import type { Entry } from '../../files/entry.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import type { Attributes } from './packets/packets.ts';

const folderType = 0o040000;
const fileType = 0o100000;
const maxSeconds = 0xffff_ffff;

/** Converts an entry to the attributes that clients read. */
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

/** Converts requested attributes to a change. The size is not included. */
export function toChange({ times, mode, owner }: Attributes): AttributeChange {
  return { times: times && { accessedMs: times.accessedS * 1000, modifiedMs: times.modifiedS * 1000 }, mode, owner };
}

export function hasChange({ times, mode, owner }: AttributeChange): boolean {
  return times !== undefined || mode !== undefined || owner !== undefined;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const halfYearMs = 182 * 86_400_000;
const permissionTexts = Array.from({ length: 0o1000 }, (_, mode) =>
  [...'rwxrwxrwx'].map((letter, index) => (mode & (0o400 >> index) ? letter : '-')).join(''),
);

/**
 * Formats an entry as a line of `ls -l`, in local time.
 *
 * @param owner the name that is shown as owner and as group
 * @param nowMs Unix time in milliseconds. Entries older than half a year show the year in place of the time of day
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
