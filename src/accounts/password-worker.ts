// The program of a thread that compares one password with one hash of another system, and ends: these libraries compute without a pause,
// and WebAssembly keeps its memory. The bundler makes it a file of its own (`svc:password-worker`).
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

// Its types describe a module with a default export; it is a function.
const md5Crypt = apacheMd5 as unknown as (password: string, hash: string) => string;

/** bcrypt knows no more of a password; the other programs cut it, too. */
const bcryptBytes = 72;

async function matches({ family, password, hash }: VerificationTask): Promise<boolean> {
  switch (family) {
    case 'argon2':
      return argon2Verify({ password, hash });
    case 'bcrypt':
      return bcryptVerify({ password: password.subarray(0, bcryptBytes), hash });
    case 'md5-crypt':
      // The library reads a character as a byte.
      return isSameDigest(md5Crypt(Buffer.from(password).toString('latin1'), hash), hash);
    case 'sha-crypt':
      return isSameDigest(shaCrypt(Buffer.from(password).toString('utf8'), hash.slice(0, hash.lastIndexOf('$'))), hash);
    default:
      return family satisfies never;
  }
}

/** Compares the digests alone: `rounds=5000` and none mean the same. */
function isSameDigest(made: string, hash: string): boolean {
  const [one, two] = [made, hash].map((text) => Buffer.from(text.slice(text.lastIndexOf('$') + 1), 'latin1')) as [Buffer, Buffer];
  return one.length === two.length && timingSafeEqual(one, two);
}

const task = workerData as VerificationTask;
// The libraries take no empty password; it costs as much as another, and matches nothing.
const isEmpty = task.password.length === 0;
void matches(isEmpty ? { ...task, password: Uint8Array.of(0) } : task).then((answer) => parentPort?.postMessage(answer && !isEmpty));
