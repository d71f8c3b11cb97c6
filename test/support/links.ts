import assert from 'node:assert/strict';
import type { TestReply, TestRequest } from './client.ts';
import type { TestServer } from './server.ts';

export interface NewLink {
  id: string;
  url: string;
  expires: string;
}

export const json = { 'content-type': 'application/json' };
export const page = { accept: 'text/html' };

/** Orders a link as alice, or as somebody else. */
export function orderLink(server: Pick<TestServer, 'send'>, order: object, options: TestRequest = {}): Promise<TestReply> {
  return server.send('POST', '/home/__svc__/links', { ...options, headers: { ...json, ...options.headers }, body: JSON.stringify(order) });
}

/** Makes a link as alice. @returns it, with the path of its URL and its secret */
export async function makeLink(server: Pick<TestServer, 'send'>, order: object): Promise<NewLink & { at: string; secret: string }> {
  const reply = await orderLink(server, order);
  assert.equal(reply.status, 201, reply.text);
  const link = reply.json<NewLink>();
  const at = new URL(link.url).pathname;
  return { ...link, at, secret: at.split('/')[3] as string };
}

/** A request of somebody without an account. */
export function visit(server: Pick<TestServer, 'send'>, method: string, target: string, options: TestRequest = {}): Promise<TestReply> {
  return server.send(method, target, { user: null, ...options });
}

/** Events of some kinds. */
export async function told(server: Pick<TestServer, 'events'>, ...ids: number[]) {
  return (await server.events()).filter(({ id }) => ids.includes(Number(id)));
}
