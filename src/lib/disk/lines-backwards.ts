import { readAsync } from './descriptors.ts';

const chunkBytes = 256 * 1024;

/** Maximum length of a line in bytes. The lines that svc writes are far shorter. */
export const longestLineBytes = 16 * 1024 * 1024;

const newline = 0x0a;

/** A chunk of this size certainly contains the longest line with the newlines around it. */
const maxBytes = longestLineBytes + 2;

/** A line without its newline, and its offset in bytes in the file. */
export interface LineWithOffset {
  line: Buffer;
  offset: number;
}

export interface BackwardBlock {
  /** The lines, the last one first. */
  lines: LineWithOffset[];
  /** Offset in bytes at which the block's first line begins in the file. A line longer than `longestLineBytes` is not in `lines`. */
  start: number;
  readBytes: number;
}

/**
 * Reads the lines of a part of a file, beginning with the last one. Another process may append to the file or truncate it meanwhile. A last
 * line without a newline is incomplete and left out. Memory use is limited to one chunk or the longest line.
 *
 * @param range offsets in bytes from the start of the file; a line must begin at `start`
 * @param needles selects the lines that contain at least one needle of each list. The search is fastest if the rarest list comes first
 */
export async function* linesBackwards(
  fd: number,
  range: { start: number; end: number },
  needles: readonly Buffer[][] = [],
): AsyncGenerator<BackwardBlock> {
  let wanted = chunkBytes;
  for (let end = range.end; end > range.start; ) {
    const start = Math.max(range.start, end - wanted);
    const chunk = Buffer.allocUnsafe(end - start);
    const { bytesRead } = await readAsync(fd, chunk, 0, chunk.length, start);
    const bytes = chunk.subarray(0, bytesRead);
    // The first line in a chunk usually begins in an earlier chunk.
    const first = start === range.start ? 0 : bytes.indexOf(newline) + 1;
    const isWhole = start === range.start || (first > 0 && first < bytes.length);
    if (!isWhole && wanted < maxBytes) {
      wanted = Math.min(4 * wanted, maxBytes);
      continue;
    }
    const lines = isWhole ? linesWith(bytes.subarray(first), start + first, needles) : [];
    end = isWhole ? start + first : start;
    wanted = chunkBytes;
    yield { lines, start: end, readBytes: bytesRead };
  }
}

/** Returns whether a line contains at least one needle of each list. */
export function hasNeedles(line: Buffer, needles: readonly Buffer[][]): boolean {
  return needles.every((list) => list.some((needle) => line.includes(needle)));
}

/** Returns the complete lines of a block that contain at least one needle of each list. The last line comes first. */
function linesWith(block: Buffer, offset: number, needles: readonly Buffer[][]): LineWithOffset[] {
  const [rarest, ...others] = needles;
  const lines: LineWithOffset[] = [];
  for (const start of rarest ? startsOfLinesWith(block, rarest) : startsOfLines(block)) {
    const end = block.indexOf(newline, start);
    if (end < 0) continue;
    const line = block.subarray(start, end);
    if (hasNeedles(line, others)) lines.push({ line, offset: offset + start });
  }
  return lines.reverse();
}

function startsOfLines(block: Buffer): number[] {
  const starts = block.length > 0 ? [0] : [];
  for (let at = block.indexOf(newline); at >= 0 && at + 1 < block.length; at = block.indexOf(newline, at + 1)) starts.push(at + 1);
  return starts;
}

function startsOfLinesWith(block: Buffer, needles: readonly Buffer[]): number[] {
  const starts = new Set<number>();
  for (const needle of needles) {
    for (let at = block.indexOf(needle); at >= 0; ) {
      starts.add(block.lastIndexOf(newline, at) + 1);
      const end = block.indexOf(newline, at);
      at = end < 0 ? -1 : block.indexOf(needle, end);
    }
  }
  return needles.length === 1 ? [...starts] : [...starts].sort((a, b) => a - b);
}
