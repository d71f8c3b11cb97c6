// The program of a thread that compares one password with one hash of another system and then ends. A thread is used, because the
// imported libraries block while they compute. The thread ends after one hash, because WebAssembly never frees its memory. The bundler puts
// the program into a separate file (`svc:password-worker`).
import { timingSafeEqual } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import apacheMd5 from 'apache-md5';
import { argon2Verify, bcryptVerify } from 'hash-wasm';
import { encrypt as shaCrypt } from 'unixcrypt';

/** The kinds of password hashes that this thread can verify. */
export type ThreadFamily = 'argon2' | 'bcrypt' | 'md5-crypt' | 'sha-crypt';

/** The input of the thread. The thread answers with a boolean: whether the password matches the hash. */
export interface VerificationTask {
  readonly family: ThreadFamily;
  /** The password in UTF-8. */
  readonly password: Uint8Array;
  readonly hash: string;
}

// According to its types, the module has a default export. In fact the module itself is the function.
const md5Crypt = apacheMd5 as unknown as (password: string, hash: string) => string;

/** Number of bytes of a password that bcrypt uses. Longer passwords are truncated, as in other programs. */
const bcryptBytes = 72;

async function matches({ family, password, hash }: VerificationTask): Promise<boolean> {
  switch (family) {
    case 'argon2':
      return argon2Verify({ password, hash });
    case 'bcrypt':
      return bcryptVerify({ password: password.subarray(0, bcryptBytes), hash });
    case 'md5-crypt':
      // The library expects a text in which each character stands for one byte.
      return isSameDigest(md5Crypt(Buffer.from(password).toString('latin1'), hash), hash);
    case 'sha-crypt':
      return isSameDigest(shaCrypt(Buffer.from(password).toString('utf8'), hash.slice(0, hash.lastIndexOf('$'))), hash);
    default:
      return family satisfies never;
  }
}

/** Compares only the digests, because the rest may differ: `rounds=5000` means the same as no `rounds`. */
function isSameDigest(made: string, hash: string): boolean {
  const [one, two] = [made, hash].map((text) => Buffer.from(text.slice(text.lastIndexOf('$') + 1), 'latin1')) as [Buffer, Buffer];
  return one.length === two.length && timingSafeEqual(one, two);
}

const task = workerData as VerificationTask;
// The libraries reject an empty password. So that the answer takes the usual time, the thread hashes another text.
const isEmpty = task.password.length === 0;
void matches(isEmpty ? { ...task, password: Uint8Array.of(0) } : task).then((answer) => parentPort?.postMessage(answer && !isEmpty));
