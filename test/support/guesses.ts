import { randomBytes, scryptSync } from 'node:crypto';
import type { Client, TestReply, TestRequest } from './client.ts';
import { testPassword } from './secrets.ts';

/** Returns a request with Basic authentication. A header gives the client's address, as a proxy on this machine would. */
export function from(address: string, user: string, more: TestRequest = {}): TestRequest {
  return { ...more, user, headers: { accept: 'application/json', 'x-forwarded-for': address, ...more.headers } };
}

/**
 * Sends many different wrong passwords of `alice` at once.
 *
 * @param right `name:password` of another request, which is sent in the middle of the guesses
 * @returns the replies to the guesses, and the reply to the other request
 */
export async function guessAtOnce(
  clients: readonly Client[],
  count: number,
  address: string,
  right?: string,
): Promise<{ guesses: TestReply[]; inTheMiddle: TestReply | undefined }> {
  const client = (index: number) => clients[index % clients.length] as Client;
  const users = Array.from({ length: count }, (_, index) => `alice:not the password ${index}`);
  if (right !== undefined) users.splice(count / 2, 0, right);
  const replies = await Promise.all(users.map((user, index) => client(index).get('/home/', from(address, user))));
  const inTheMiddle = right === undefined ? undefined : replies.splice(count / 2, 1)[0];
  return { guesses: replies, inTheMiddle };
}

/** Returns the number of replies with each status. */
export function countStatuses(replies: readonly TestReply[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/**
 * Returns a hash of `testPassword` that costs almost nothing, for tests that verify hundreds of guesses.
 *
 * @param ln binary logarithm of the cost
 */
export function hashOfCost(ln: number): string {
  const salt = randomBytes(16);
  const unpadded = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${ln},r=8,p=1$${unpadded(salt)}$${unpadded(scryptSync(testPassword, salt, 32, { N: 2 ** ln, r: 8, p: 1 }))}`;
}
