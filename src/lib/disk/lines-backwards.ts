import { readAsync } from './descriptors.ts';

const chunkBytes = 256 * 1024;

/** The lines of svc are far shorter. */
export const longestLineBytes = 16 * 1024 * 1024;

const newline = 0x0a;

/** Holds the longest line with the newlines around it. */
const maxBytes = longestLineBytes + 2;

/** The line has no newline. The offset is in bytes. */
export interface LineWithOffset {
  line: Buffer;
  offset: number;
}

export interface BackwardBlock {
  /** The last one first. */
  lines: LineWithOffset[];
  /** Offset of the first line in bytes. Lines beyond `longestLineBytes` are not in `lines`. */
  start: number;
  readBytes: number;
}

/**
 * Reads the lines of a part of a file, the last one first, while other processes may append or truncate. A last line without a newline is
 * left out.
 *
 * @param range offsets in bytes; a line must begin at `start`
 * @param needles each line must contain one of each list. The rarest list should come first
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
    // The first line usually begins in an earlier chunk.
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

/** Whether a line contains at least one needle of each list. */
export function hasNeedles(line: Buffer, needles: readonly Buffer[][]): boolean {
  return needles.every((list) => list.some((needle) => line.includes(needle)));
}

/** The last line comes first. */
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
