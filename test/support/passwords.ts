import { hashPassword } from '../../src/accounts/passwords.ts';

/**
 * Returns a hash that costs almost nothing. If hashes had the usual cost, a test would spend most of its time on the verification of
 * passwords.
 */
export function cheapHash(password: string): Promise<string> {
  return hashPassword(password, { ln: 4, r: 8, p: 1 });
}
