import type { Stats } from 'node:fs';

/** A file or folder as the service shows it. */
export interface Entry {
  name: string;
  isFolder: boolean;
  /** 0 for folders. */
  sizeBytes: number;
  /** Modification time, Unix time in milliseconds with a fraction. */
  modifiedMs: number;
  /** Access time, if the file system records it; Unix time in milliseconds. */
  accessedMs: number;
  /** Creation time, or the earliest known time; Unix time in milliseconds. */
  createdMs: number;
  /** Whether the path leads through a symbolic link. ZIP archives leave such entries out. */
  isLink?: boolean;
  /** Inode number, part of the entity tag. */
  inode: number;
  /** Permission bits. */
  mode: number;
  uid: number;
  gid: number;
}

export type ListedEntry = Pick<Entry, 'name' | 'isFolder' | 'sizeBytes' | 'modifiedMs' | 'isLink'>;

export function toEntry(name: string, stats: Stats): Entry {
  const isFolder = stats.isDirectory();
  return {
    name,
    isFolder,
    sizeBytes: isFolder ? 0 : stats.size,
    modifiedMs: stats.mtimeMs,
    accessedMs: stats.atimeMs,
    createdMs: stats.birthtimeMs || Math.min(stats.ctimeMs, stats.mtimeMs),
    inode: stats.ino,
    mode: stats.mode & 0o7777,
    uid: stats.uid,
    gid: stats.gid,
  };
}

/**
 * The entry of a folder that is not on disk: the parent of a virtual folder, or a virtual folder whose real folder is missing.
 *
 * @param modifiedMs Unix time in milliseconds, 0 if no time is known
 */
export function virtualEntry(name: string, modifiedMs: number): Entry {
  const times = { modifiedMs, accessedMs: modifiedMs, createdMs: modifiedMs };
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return { name, isFolder: true, sizeBytes: 0, ...times, inode: 0, mode: 0o755, ...owner };
}

/** Orders names by code point. Comparison by UTF-16 units would differ for characters beyond the basic plane. */
export function compareNames(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) {
    const unitA = a.charCodeAt(index);
    const unitB = b.charCodeAt(index);
    if (unitA !== unitB) return codePointRank(unitA) - codePointRank(unitB);
  }
  return a.length - b.length;
}

// Surrogates rank above all other units, because they encode code points beyond the basic plane.
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
