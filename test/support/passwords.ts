import { hashPassword } from '../../src/accounts/passwords.ts';

/** A hash that costs next to nothing: with the cost of real ones a test would do little else than check its own passwords. */
export function cheapHash(password: string): Promise<string> {
  return hashPassword(password, { ln: 4, r: 8, p: 1 });
}
