import { createHash, createPublicKey, type Hash, type KeyObject } from 'node:crypto';
import { closeSync, existsSync, fstatSync, readFileSync, readSync, statSync } from 'node:fs';
import * as z from 'zod';
import { openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { eventIds } from '../event-ids.ts';
import { type Checkpoint, checkpointsPath, isSignedByItsKey, keyName, parseCheckpoint } from './checkpoints.ts';
import { listSegments, segmentPath } from './segments.ts';

const chunkBytes = 1024 * 1024;

/** Maximum size in bytes of an event about a checkpoint. */
const maxTailBytes = 64 * 1024;

const journalFault = z
  .strictObject({
    segment: z.int(),
    position: z.int().describe('Byte of the segment at which the differing part begins.'),
    what: z.string().describe('The difference in words.'),
  })
  .describe('The first mismatch.');

export const verification = z.strictObject({
  outcome: z.enum(['whole', 'fault', 'undecided']),
  fault: journalFault.exactOptional(),
  uncovered: z
    .strictObject({
      segment: z.int(),
      position: z.int(),
      bytes: z.int(),
      since: z
        .string()
        .exactOptional()
        .describe('Time of the last checkpoint before these events; missing if they precede the first checkpoint.'),
    })
    .exactOptional()
    .describe('Events that no checkpoint covers.'),
  checkpoints: z.int(),
  segments: z.int(),
  bytes: z.int().describe('Bytes that were read and match.'),
  from: z.string().exactOptional().describe('Time of the first checkpoint.'),
  to: z.string().exactOptional().describe('Time of the last checkpoint.'),
  keys: z.array(z.string()).describe('Public keys with which the checkpoints were signed, in the order of their use.'),
});
export type Verification = z.infer<typeof verification>;

export interface VerifyOptions {
  folder: string;
  /** A key that must be one of the signing keys. Without it, any chain of keys is accepted. */
  publicKey?: KeyObject | undefined;
  /** Checkpoints that another party kept. */
  witness?: readonly Checkpoint[];
  /** Checkpoints before this time (Unix time in milliseconds) are not checked. */
  sinceMs?: number | undefined;
}

class Mismatch extends Error {
  readonly fault: z.infer<typeof journalFault>;

  constructor(segment: number, position: number, what: string) {
    super(what);
    this.fault = { segment, position, what };
  }
}

/** Checks a journal against its checkpoints (docs/spec/evidence.md#verification). Memory use is bounded. */
export function verifyJournal(options: VerifyOptions): Promise<Verification> {
  return verified(async (result) => {
    const checkpoints = readCheckpoints(options.folder);
    checkChain(checkpoints, options, result);
    await checkContent(checkpoints, options, result);
    checkEnds(checkpoints, options.folder, result);
  });
}

/** Checks the checkpoints in a folder that has no segments, such as an export. */
export function verifyCheckpoints(options: VerifyOptions): Promise<Verification> {
  return verified(async (result) => checkChain(readCheckpoints(options.folder), options, result));
}

async function verified(check: (result: Verification) => Promise<void>): Promise<Verification> {
  const result: Verification = { outcome: 'whole', checkpoints: 0, segments: 0, bytes: 0, keys: [] };
  try {
    await check(result);
  } catch (error) {
    if (!(error instanceof Mismatch)) throw error;
    result.outcome = 'fault';
    result.fault = error.fault;
  }
  return result;
}

/** Reads the checkpoints. Ignores an incomplete last line that a killed process left. @throws Mismatch for any other bad line */
export function readCheckpoints(folder: string): Checkpoint[] {
  const path = checkpointsPath(folder);
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  let before: Checkpoint | undefined;
  return lines.map((line, index) => {
    const checkpoint = parseCheckpoint(line);
    if (!checkpoint || JSON.stringify(checkpoint) !== line)
      throw new Mismatch(before?.segment ?? 1, before?.position ?? 0, `line ${index + 1} of checkpoints.ndjson is not a checkpoint`);
    before = checkpoint;
    return checkpoint;
  });
}

/** Checks that the checkpoints form one chain, and checks their signatures. @throws Mismatch */
function checkChain(checkpoints: readonly Checkpoint[], { publicKey, witness = [], sinceMs }: VerifyOptions, result: Verification): void {
  const removedTo = checkpoints.at(-1)?.removed_to ?? 0;
  const [first] = checkpoints;
  if (first && first.previous !== '' && (removedTo === 0 || first.segment > removedTo + 1))
    throw new Mismatch(first.segment, 0, `the checkpoints that precede the one of ${first.time} are missing`);
  for (const [index, checkpoint] of checkpoints.entries()) {
    const { segment, position, previous, time, key } = checkpoint;
    const before = checkpoints[index - 1];
    const at = `the checkpoint of ${time}`;
    if (before && previous !== before.hash) throw new Mismatch(segment, position, `${at} does not follow the one of ${before.time}`);
    if (before && (segment < before.segment || (segment === before.segment && position < before.position)))
      throw new Mismatch(segment, position, `${at} covers less than the one of ${before.time}`);
    const expectedKey = before?.next_key ?? before?.key ?? key;
    if (key !== expectedKey) throw new Mismatch(segment, position, `${at} is signed by a key that was not announced`);
    const isSkipped = sinceMs !== undefined && new Date(time).getTime() < sinceMs;
    if (!isSkipped && !isSignedByItsKey(checkpoint)) throw new Mismatch(segment, position, `the signature of ${at} is wrong`);
    if (result.keys.at(-1) !== key) result.keys.push(key);
  }
  result.checkpoints = checkpoints.length;
  if (first) result.from = first.time;
  const last = checkpoints.at(-1);
  if (last) result.to = last.time;
  const known = new Set([...result.keys, last?.next_key]);
  if (publicKey && first && !known.has(keyName(publicKey)))
    throw new Mismatch(first.segment, 0, 'the checkpoints are signed by another key than the one given');
  checkWitness(checkpoints, witness, removedTo);
}

function checkWitness(checkpoints: readonly Checkpoint[], witness: readonly Checkpoint[], removedTo: number): void {
  const known = new Set(checkpoints.map(({ signature }) => signature));
  for (const seen of witness) {
    if (seen.segment <= removedTo || known.has(seen.signature)) continue;
    const last = checkpoints.at(-1);
    const isBehind = !last || seen.segment > last.segment || (seen.segment === last.segment && seen.position > last.position);
    const what = isBehind ? 'the end is missing' : 'it is another journal';
    throw new Mismatch(seen.segment, seen.position, `${what}: the witness has a checkpoint of ${seen.time} that the journal does not have`);
  }
}

/** Checks the bytes of all segments. @throws Mismatch */
async function checkContent(checkpoints: readonly Checkpoint[], { folder, sinceMs }: VerifyOptions, result: Verification): Promise<void> {
  const removedTo = checkpoints.at(-1)?.removed_to ?? 0;
  const sizes = new Map(listSegments(folder).map(({ number, path }) => [number, statSync(path).size]));
  let segment = checkpoints[0]?.segment ?? 1;
  let position = 0;
  for (let index = 0; index < checkpoints.length; ) {
    const ofSegment = checkpoints.slice(index).findIndex((checkpoint) => checkpoint.segment !== checkpoints[index]?.segment);
    const end = ofSegment < 0 ? checkpoints.length : index + ofSegment;
    const group = checkpoints.slice(index, end);
    segment = (group[0] as Checkpoint).segment;
    const before = checkpoints[index - 1];
    for (const [number, size] of sizes)
      if (before && number > before.segment && number < segment && size > 0)
        throw new Mismatch(number, 0, 'the segment was added: no checkpoint covers it');
    position = (group.at(-1) as Checkpoint).position;
    index = end;
    const size = sizes.get(segment);
    if (size === undefined) {
      if (segment > removedTo && position > 0) throw new Mismatch(segment, 0, 'the segment is missing');
      continue;
    }
    const isLast = end === checkpoints.length;
    await checkSegment(folder, group, { size, isLast, sinceMs }, result);
    result.segments++;
  }
}

async function checkSegment(
  folder: string,
  checkpoints: readonly Checkpoint[],
  { size, isLast, sinceMs }: { size: number; isLast: boolean; sinceMs: number | undefined },
  result: Verification,
): Promise<void> {
  const segment = (checkpoints[0] as Checkpoint).segment;
  const end = (checkpoints.at(-1) as Checkpoint).position;
  // Checkpoints cover all bytes of the segments before the last one, so the size of such a segment shows whether bytes were removed or
  // added.
  const shift = isLast ? Math.min(size - end, 0) : size - end;
  const fd = openIfThere(segmentPath(folder, segment));
  if (fd === undefined) throw new Mismatch(segment, 0, 'the segment is missing');
  try {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    let from = 0;
    for (const { position, previous, hash, time } of checkpoints) {
      const isSkipped = sinceMs !== undefined && new Date(time).getTime() < sinceMs;
      if (!isSkipped) {
        const found = await hashRange(fd, createHash('sha256').update(previous), from, position, chunk);
        if (found !== hash) throw new Mismatch(segment, from, describeMismatch(fd, from, position, time, shift));
        result.bytes += position - from;
      }
      from = position;
    }
  } finally {
    closeSync(fd);
  }
  if (!isLast && size > end) throw new Mismatch(segment, end, `${size - end} bytes were added after the end of the segment`);
}

function describeMismatch(fd: number, from: number, to: number, time: string, shift: number): string {
  const range = `between byte ${from} and ${to}, before the checkpoint of ${time}`;
  const size = fstatSync(fd).size;
  if (size < to && shift < 0 && size <= from) return `the end is missing: the segment has ${size} bytes`;
  if (shift < 0) return `${-shift} bytes were removed ${range}, or at the end of the segment`;
  if (shift > 0) return `${shift} bytes were added ${range}`;
  return `bytes were changed ${range}`;
}

/**
 * Hashes a range of a file. @returns the digest as hex. If the file is too short, this is the digest of the bytes that exist, which cannot
 * match the expected digest
 */
async function hashRange(fd: number, hash: Hash, from: number, to: number, chunk: Buffer): Promise<string> {
  for (let position = from; position < to; ) {
    const { bytesRead } = await readAsync(fd, chunk, 0, Math.min(chunk.length, to - position), position);
    if (bytesRead === 0) break;
    hash.update(chunk.subarray(0, bytesRead));
    position += bytesRead;
  }
  return hash.digest('hex');
}

/** Looks for events before the first checkpoint and after the last one, which no checkpoint covers. @throws Mismatch */
function checkEnds(checkpoints: readonly Checkpoint[], folder: string, result: Verification): void {
  const [first] = checkpoints;
  const last = checkpoints.at(-1);
  const removedTo = last?.removed_to ?? 0;
  const segments = listSegments(folder).map(({ number, path }) => ({ number, size: statSync(path).size }));
  const early = segments
    .filter(({ number }) => number > removedTo && number < (first?.segment ?? 0))
    .reduce((sum, { size }) => sum + size, 0);
  const oldest = segments.find(({ number }) => number > removedTo)?.number ?? 1;
  if (first && early > 0) result.uncovered = { segment: oldest, position: 0, bytes: early };
  else if (first && oldest > removedTo + 1 && oldest > first.segment) throw new Mismatch(removedTo + 1, 0, 'the segment is missing');
  for (const { number, size } of segments) {
    if (last && number < last.segment) continue;
    const position = number === last?.segment ? last.position : 0;
    if (size <= position || (last && isOwnEvent(folder, number, position, size, last))) continue;
    const bytes = (result.uncovered?.bytes ?? 0) + size - position;
    result.uncovered = { segment: number, position, ...(last && { since: last.time }), ...result.uncovered, bytes };
  }
  if (result.uncovered || !last) result.outcome = 'undecided';
}

/** Whether the bytes after a checkpoint are the event about this checkpoint. */
function isOwnEvent(folder: string, segment: number, position: number, size: number, checkpoint: Checkpoint): boolean {
  if (size - position > maxTailBytes) return false;
  const fd = openIfThere(segmentPath(folder, segment));
  if (fd === undefined) return false;
  try {
    const bytes = Buffer.alloc(size - position);
    const tail = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, position)).toString('utf8');
    const { id, data } = JSON.parse(tail) as { id: string; data: Checkpoint };
    return id === String(eventIds.journalCheckpoint) && data.signature === checkpoint.signature;
  } catch {
    return false;
  } finally {
    closeSync(fd);
  }
}

/** Returns the public key that a checkpoint names. */
export function publicKeyFromName(name: string): KeyObject {
  return createPublicKey({ key: Buffer.from(name, 'base64'), format: 'der', type: 'spki' });
}
