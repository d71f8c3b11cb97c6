import { hashPassword } from '../../accounts/passwords.ts';
import { ServiceError } from '../../lib/errors.ts';
import { exitCode } from '../exit-codes.ts';
import { print } from '../output.ts';
import { askHidden, readLine } from '../prompt.ts';

/** Reads a password and prints its hash. */
export async function hashPasswordCommand(): Promise<number> {
  const password = process.stdin.isTTY ? await askTwice() : await readLine(process.stdin);
  if (password === '') throw new ServiceError('bad-request', 'The password is empty.');
  print(await hashPassword(password));
  return exitCode.done;
}

async function askTwice(): Promise<string> {
  const password = await askHidden('Password: ');
  if ((await askHidden('Again: ')) !== password) throw new ServiceError('bad-request', 'The passwords differ.');
  return password;
}
