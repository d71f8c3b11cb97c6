// The program of a thread that compares one password with one hash of another system and then ends. It runs in a thread because these
// libraries block while they compute, and WebAssembly never frees its memory. The bundler puts it into a separate file
// (`svc:password-worker`).
import { timingSafeEqual } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import apacheMd5 from 'apache-md5';
import { argon2Verify, bcryptVerify } from 'hash-wasm';
import { encrypt as shaCrypt } from 'unixcrypt';

/** The families of hashes that are computed in a thread. */
export type ThreadFamily = 'argon2' | 'bcrypt' | 'md5-crypt' | 'sha-crypt';

/** The question to the thread; its answer is a boolean. */
export interface VerificationTask {
  readonly family: ThreadFamily;
  /** The password in UTF-8. */
  readonly password: Uint8Array;
  readonly hash: string;
}

// The types describe a module with a default export, but it is a function.
const md5Crypt = apacheMd5 as unknown as (password: string, hash: string) => string;

/** bcrypt uses no more bytes of a password; other programs truncate it, too. */
const bcryptBytes = 72;

async function matches({ family, password, hash }: VerificationTask): Promise<boolean> {
  switch (family) {
    case 'argon2':
      return argon2Verify({ password, hash });
    case 'bcrypt':
      return bcryptVerify({ password: password.subarray(0, bcryptBytes), hash });
    case 'md5-crypt':
      // The library takes each character as one byte.
      return isSameDigest(md5Crypt(Buffer.from(password).toString('latin1'), hash), hash);
    case 'sha-crypt':
      return isSameDigest(shaCrypt(Buffer.from(password).toString('utf8'), hash.slice(0, hash.lastIndexOf('$'))), hash);
    default:
      return family satisfies never;
  }
}

/** Compares only the digests, because `rounds=5000` and no `rounds` mean the same. */
function isSameDigest(made: string, hash: string): boolean {
  const [one, two] = [made, hash].map((text) => Buffer.from(text.slice(text.lastIndexOf('$') + 1), 'latin1')) as [Buffer, Buffer];
  return one.length === two.length && timingSafeEqual(one, two);
}

const task = workerData as VerificationTask;
// The libraries reject an empty password; so another one is hashed, which costs the same and never matches.
const isEmpty = task.password.length === 0;
void matches(isEmpty ? { ...task, password: Uint8Array.of(0) } : task).then((answer) => parentPort?.postMessage(answer && !isEmpty));
