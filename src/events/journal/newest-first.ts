import { closeSync, fstatSync, openSync } from 'node:fs';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { ServiceEvent } from '../event.ts';
import { parseEvent } from './reader.ts';
import { listSegments } from './segments.ts';

/** How far back a search goes, in bytes: it is somebody's page that waits for it. */
const mostBytes = 16 * 1024 * 1024;

const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** What the JSON of each event of an account has in it. Others may have it, too. */
export function signOfAccount(uuid: string): string {
  return `"uuid":${JSON.stringify(uuid)}`;
}

/**
 * The events of one account in the files of a journal, the newest first, as far back as `mostBytes` of the journal. Lines that are no events
 * are passed over.
 *
 * @param folder of the journal
 * @param accountUuid UUID of the account
 */
export async function* newestOfAccount(folder: string, accountUuid: string): AsyncGenerator<ServiceEvent> {
  const sign = Buffer.from(signOfAccount(accountUuid));
  let leftBytes = mostBytes;
  for (const { path } of listSegments(folder).toReversed()) {
    for await (const { lines, readBytes } of blocksBackwards(path, sign)) {
      for (const line of lines) {
        const event = parseEvent(line);
        if (typeof event !== 'string' && event.account.uuid === accountUuid) yield event;
      }
      leftBytes -= readBytes;
      if (leftBytes <= 0) return;
    }
  }
}

interface Block {
  /** Lines with the sign in them, the last one first. */
  lines: Buffer[];
  readBytes: number;
}

/** Reads a file from its end. */
async function* blocksBackwards(path: string, sign: Buffer): AsyncGenerator<Block> {
  const fd = openIfThere(path);
  if (fd === undefined) return;
  try {
    // The end of a line whose beginning is not read yet.
    let rest = Buffer.alloc(0);
    for (let end = fstatSync(fd).size; end > 0; ) {
      const start = Math.max(0, end - chunkBytes);
      const chunk = Buffer.allocUnsafe(end - start);
      const { bytesRead } = await readAsync(fd, chunk, 0, chunk.length, start);
      const block = Buffer.concat([chunk.subarray(0, bytesRead), rest]);
      const first = start === 0 ? 0 : block.indexOf(newline) + 1;
      rest = block.subarray(0, first);
      // A line may be longer than a chunk.
      if (start > 0 && first === 0) rest = block;
      yield { lines: first === 0 && start > 0 ? [] : linesWith(sign, block.subarray(first)), readBytes: chunk.length };
      end = start;
    }
  } finally {
    closeSync(fd);
  }
}

function linesWith(sign: Buffer, block: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let at = block.lastIndexOf(sign); at >= 0; ) {
    const lineStart = block.lastIndexOf(newline, at) + 1;
    const lineEnd = block.indexOf(newline, at);
    lines.push(block.subarray(lineStart, lineEnd < 0 ? block.length : lineEnd));
    at = lineStart === 0 ? -1 : block.lastIndexOf(sign, lineStart - 1);
  }
  return lines;
}

// Past its retention and removed meanwhile.
function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
