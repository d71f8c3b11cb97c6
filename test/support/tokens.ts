import assert from 'node:assert/strict';
import type { Client, TestReply, TestRequest } from './client.ts';

/** A token that a test created. */
export interface TestToken {
  id: string;
  token: string;
  /** Options of requests that send the token as a bearer token. */
  as: TestRequest;
}

/** Requests a token as `alice`, or with other credentials. */
export function askForToken(client: Client, order: Record<string, unknown>, by: TestRequest = {}): Promise<TestReply> {
  const headers = { ...by.headers, 'content-type': 'application/json' };
  return client.send('POST', '/home/__svc__/tokens', { ...by, headers, body: JSON.stringify({ name: 'test', ...order }) });
}

/** Creates a token. */
export async function makeToken(client: Client, order: Record<string, unknown> = {}, by: TestRequest = {}): Promise<TestToken> {
  const reply = await askForToken(client, order, by);
  assert.equal(reply.status, 201, reply.text);
  const { id, token } = reply.json<{ id: string; token: string }>();
  return { id, token, as: bearer(token) };
}

/** Returns the options of a request with a bearer token. */
export function bearer(token: string): TestRequest {
  return { user: null, headers: { authorization: `Bearer ${token}` } };
}
