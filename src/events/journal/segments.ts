import { closeSync, fsyncSync, ftruncateSync, openSync, readdirSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { longestLineBytes } from '../../lib/disk/lines-backwards.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { isJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import type { LogPosition } from './position.ts';

const newline = 0x0a;

/** Number of bytes at the end of a file that a repair reads first. */
const firstReadBytes = 64 * 1024;

/** The kind of lines in a series of files: events, deliveries by handlers, or deliveries by `svc webhook-replay`. */
export type SegmentKind = 'events' | 'deliveries' | 'replays';

export interface Segment {
  number: number;
  path: string;
}

/** Returns the path of a segment, for example `events-00000001.ndjson`. */
export function segmentPath(folder: string, number: number, kind: SegmentKind = 'events'): string {
  return join(folder, `${kind}-${String(number).padStart(8, '0')}.ndjson`);
}

/** Lists all segments in a folder, oldest first. */
export function listSegments(folder: string, kind: SegmentKind = 'events'): Segment[] {
  const segmentName = new RegExp(`^${kind}-(\\d{8,})\\.ndjson$`);
  return listNames(folder)
    .flatMap((name) => {
      const match = segmentName.exec(name);
      return match ? [{ number: Number(match[1]), path: join(folder, name) }] : [];
    })
    .sort((a, b) => a.number - b.number);
}

/**
 * Finds a position from which a reader meets every event at or after a time, and perhaps older ones.
 *
 * @param sinceMs Unix time in milliseconds
 * @returns undefined to begin at the oldest event
 */
export function eventsSince(folder: string, sinceMs: number | undefined): LogPosition | undefined {
  if (sinceMs === undefined) return undefined;
  const segments = listSegments(folder);
  const first = segments.find(({ path }) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= sinceMs) ?? segments.at(-1);
  return first && { segment: first.number, offset: 0 };
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Repairs the end of a segment after a crash. A complete line without a newline gets one. A torn line is cut off. That is safe, because no
 * client was told that the event of this line was recorded.
 */
export function repairSegment(path: string, log: Log): void {
  const sizeBytes = statSync(path).size;
  if (sizeBytes === 0) return;
  const fd = openSync(path, 'r+');
  try {
    const tail = readLastLine(fd, sizeBytes);
    const tailStart = sizeBytes - tail.length;
    if (tail.at(-1) === newline) return;
    const lineStart = tail.lastIndexOf(newline) + 1;
    if (isJson(tail.subarray(lineStart).toString('utf8'))) {
      writeSync(fd, '\n', sizeBytes);
      fsyncSync(fd);
      log.warn('the journal ended without a newline; a newline was added', { path });
      return;
    }
    ftruncateSync(fd, tailStart + lineStart);
    fsyncSync(fd);
    log.warn('the journal ended in a torn event, which was cut off', { path, bytes: tail.length - lineStart });
  } finally {
    closeSync(fd);
  }
}

/** Reads the end of a file. The result contains at least the last line, and the newline before it if there is one. */
function readLastLine(fd: number, sizeBytes: number): Buffer {
  for (let wantedBytes = firstReadBytes; ; wantedBytes *= 16) {
    const tail = Buffer.alloc(Math.min(sizeBytes, wantedBytes, longestLineBytes));
    readSync(fd, tail, 0, tail.length, sizeBytes - tail.length);
    if (tail.length < wantedBytes || tail.includes(newline)) return tail;
  }
}
