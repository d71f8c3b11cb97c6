import { hashPassword } from '../../src/accounts/passwords.ts';

/** Returns a hash that costs almost nothing. */
export function cheapHash(password: string): Promise<string> {
  return hashPassword(password, { ln: 4, r: 8, p: 1 });
}
