import { hashPassword } from '../../src/accounts/passwords.ts';

/**
 * Returns a hash that costs almost nothing. With the cost of real hashes, a test would spend most of its time on verifying its own
 * passwords.
 */
export function cheapHash(password: string): Promise<string> {
  return hashPassword(password, { ln: 4, r: 8, p: 1 });
}
