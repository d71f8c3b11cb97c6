import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';

const hexDigest = z.string().regex(/^[0-9a-f]{64}$/);

const checkpointSchema = z.strictObject({
  segment: z.int().min(1),
  position: z.int().min(0),
  hash: hexDigest,
  previous: z.union([z.literal(''), hexDigest]),
  time: z.string(),
  key: z.string(),
  removed_to: z.int().min(1).exactOptional(),
  next_key: z.string().exactOptional(),
  signature: z.string(),
});

/**
 * A signed statement about the content of the journal (docs/spec/evidence.md#checkpoints). `hash` is the SHA-256 over `previous` and the
 * bytes of the segment from the previous checkpoint to `position`. `key` is the public key, as base64 of its SubjectPublicKeyInfo.
 */
export type Checkpoint = z.infer<typeof checkpointSchema>;
export type UnsignedCheckpoint = Omit<Checkpoint, 'signature'>;

export function checkpointsPath(folder: string): string {
  return join(folder, 'checkpoints.ndjson');
}

/** Returns the text that is signed. It is JSON with the members in this order, without spaces. */
function canonical({ segment, position, hash, previous, time, key, removed_to, next_key }: UnsignedCheckpoint): string {
  return JSON.stringify({ segment, position, hash, previous, time, key, removed_to, next_key });
}

/** @param privateKey an ed25519 key whose public half is `unsigned.key` */
export function signCheckpoint(unsigned: UnsignedCheckpoint, privateKey: KeyObject): Checkpoint {
  const text = canonical(unsigned);
  const signature = sign(null, Buffer.from(text), privateKey).toString('base64');
  return { ...(JSON.parse(text) as UnsignedCheckpoint), signature };
}

/** The key that was used last. One remembered key is enough, because most checkpoints of a chain have the same key. */
let lastKey: { name: string; key: KeyObject } | undefined;

function readKey(name: string): KeyObject {
  if (lastKey?.name !== name) lastKey = { name, key: createPublicKey({ key: Buffer.from(name, 'base64'), format: 'der', type: 'spki' }) };
  return lastKey.key;
}

/** Whether the checkpoint was signed with the key that it names. */
export function isSignedByItsKey(checkpoint: Checkpoint): boolean {
  try {
    const key = readKey(checkpoint.key);
    return (
      key.asymmetricKeyType === 'ed25519' &&
      verify(null, Buffer.from(canonical(checkpoint)), key, Buffer.from(checkpoint.signature, 'base64'))
    );
  } catch {
    return false;
  }
}

/** @returns undefined for a line that is not a checkpoint */
export function parseCheckpoint(line: string): Checkpoint | undefined {
  try {
    return checkpointSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

/** Returns the name that checkpoints use for a public key. @param key the public key or its private key */
export function keyName(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
}

/** Parses a line that another party kept: a checkpoint, or the event about a checkpoint. @returns undefined for any other line */
export function parseWitness(line: string): Checkpoint | undefined {
  try {
    const value = JSON.parse(line) as { data?: unknown } | null;
    return z.object(checkpointSchema.shape).safeParse(value?.data ?? value).data;
  } catch {
    return undefined;
  }
}
