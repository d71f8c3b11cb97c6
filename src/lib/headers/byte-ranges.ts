import { randomBytes } from 'node:crypto';

/** A range of bytes. Both ends are inclusive. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Maximum number of ranges. A header with more ranges is probably an attack (RFC 9110 §14.2, CVE-2011-3192) and is ignored. */
const maxRanges = 50;

/**
 * Parses a `Range` header (RFC 9110 §14).
 *
 * @param sizeBytes size of the representation
 * @returns the satisfiable ranges in the order of the header; `unsatisfiable` (416) if there is none. Undefined if the header must be
 *   ignored, because it has a unit other than bytes, bad syntax, too many ranges or too many overlaps
 */
export function parseRange(header: string, sizeBytes: number): ByteRange[] | 'unsatisfiable' | undefined {
  const set = /^bytes\s*=(.*)$/i.exec(header.trim())?.[1];
  if (set === undefined) return undefined;
  const specs = set
    .split(',')
    .map((spec) => spec.trim())
    .filter((spec) => spec !== '');
  if (specs.length === 0 || specs.length > maxRanges) return undefined;
  const ranges: ByteRange[] = [];
  for (const spec of specs) {
    const range = parseSpec(spec, sizeBytes);
    if (range === undefined) return undefined;
    if (range !== 'unsatisfiable') ranges.push(range);
  }
  if (ranges.length === 0) return 'unsatisfiable';
  return overlaps(ranges) ? undefined : ranges;
}

function parseSpec(spec: string, sizeBytes: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^(\d*)\s*-\s*(\d*)$/.exec(spec);
  if (!match) return undefined;
  const [, first, last] = match as unknown as [string, string, string];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { start: sizeBytes - length, end: sizeBytes - 1 };
  }
  const start = Number(first);
  const end = last === '' ? sizeBytes - 1 : Number(last);
  if (last !== '' && end < start) return undefined;
  return start >= sizeBytes ? 'unsatisfiable' : { start, end: Math.min(end, sizeBytes - 1) };
}

// Ranges with more than two overlaps have no legitimate use. They only make a small request cause a large reply.
function overlaps(ranges: readonly ByteRange[]): boolean {
  const sorted = ranges.toSorted((a, b) => a.start - b.start);
  let count = 0;
  let reachedEnd = -1;
  for (const range of sorted) {
    if (range.start <= reachedEnd) count++;
    reachedEnd = Math.max(reachedEnd, range.end);
  }
  return count > 2;
}

/**
 * Prepares a `multipart/byteranges` body (RFC 9110 §14.6).
 *
 * @param type media type of the whole representation
 * @param sizeBytes size of the whole representation
 */
export function multipartRanges(type: string, ranges: readonly ByteRange[], sizeBytes: number) {
  const boundary = `svc-${randomBytes(16).toString('hex')}`;
  let lengthBytes = 0;
  const parts = ranges.map((range, index) => {
    const head = `${index === 0 ? '' : '\r\n'}--${boundary}\r\nContent-Type: ${type}\r\nContent-Range: bytes ${range.start}-${range.end}/${sizeBytes}\r\n\r\n`;
    lengthBytes += head.length + range.end - range.start + 1;
    return { preamble: Buffer.from(head), range };
  });
  const epilogue = Buffer.from(`\r\n--${boundary}--\r\n`);
  return { parts, epilogue, contentType: `multipart/byteranges; boundary=${boundary}`, lengthBytes: lengthBytes + epilogue.length };
}
