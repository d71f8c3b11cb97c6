import keyParser from 'ssh2/lib/protocol/keyParser.js';
import { publicKeyFault } from './public-key-fault.ts';

/** What a client presents: a key, how it signs, and the signature where it does so already. */
export interface PresentedKey {
  /** Name of the algorithm, `ssh-rsa` for all kinds of RSA. */
  algorithm: string;
  blob: Buffer;
  hash: string | undefined;
  signature: Buffer | undefined;
  /** What is signed: the session, and the request. */
  signed: Buffer | undefined;
}

/**
 * Looks at a client's key, and verifies its signature where there is one.
 *
 * @returns why it is refused; undefined when all is well
 */
export function keyFault({ algorithm, blob, hash, signature, signed }: PresentedKey): string | undefined {
  if (algorithm === 'ssh-rsa' && hash === undefined) return 'Signatures with SHA-1 are refused.';
  const fault = publicKeyFault(blob);
  if (fault !== undefined) return fault;
  const parsed = keyParser.parseKey(blob);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  // What is read as a key in another form than the one that was signed for is not the key that was presented.
  if (!key || key instanceof Error || key.isPrivateKey() || !key.getPublicSSH().equals(blob)) return 'The key cannot be read.';
  if (key.type !== algorithm) return 'The key is not of the type that was announced.';
  if (!signature) return undefined;
  return signed && key.verify(signed, signature, hash) === true ? undefined : 'The signature is not right.';
}
