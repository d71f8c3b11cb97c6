import assert from 'node:assert/strict';
import type { Client, TestReply, TestRequest } from './client.ts';

/** A token that a test made. */
export interface TestToken {
  id: string;
  token: string;
  /** Requests with it as a bearer's. */
  as: TestRequest;
}

/** Asks for a token as `alice`, or by other credentials. */
export function askForToken(client: Client, order: Record<string, unknown>, by: TestRequest = {}): Promise<TestReply> {
  const headers = { ...by.headers, 'content-type': 'application/json' };
  return client.send('POST', '/home/__svc__/tokens', { ...by, headers, body: JSON.stringify({ name: 'test', ...order }) });
}

/** Makes a token. */
export async function makeToken(client: Client, order: Record<string, unknown> = {}, by: TestRequest = {}): Promise<TestToken> {
  const reply = await askForToken(client, order, by);
  assert.equal(reply.status, 201, reply.text);
  const { id, token } = reply.json<{ id: string; token: string }>();
  return { id, token, as: bearer(token) };
}

/** Credentials of a bearer. */
export function bearer(token: string): TestRequest {
  return { user: null, headers: { authorization: `Bearer ${token}` } };
}
