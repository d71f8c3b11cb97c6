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

/** Requests a new link as alice, or as another user. */
export function orderLink(server: Pick<TestServer, 'send'>, order: object, options: TestRequest = {}): Promise<TestReply> {
  return server.send('POST', '/home/__svc__/links', { ...options, headers: { ...json, ...options.headers }, body: JSON.stringify(order) });
}

/** Creates a link as alice. @returns the link, with the path of its URL and its secret */
export async function makeLink(server: Pick<TestServer, 'send'>, order: object): Promise<NewLink & { at: string; secret: string }> {
  const reply = await orderLink(server, order);
  assert.equal(reply.status, 201, reply.text);
  const link = reply.json<NewLink>();
  const at = new URL(link.url).pathname;
  return { ...link, at, secret: at.split('/')[3] as string };
}

/** Sends a request without an account. */
export function visit(server: Pick<TestServer, 'send'>, method: string, target: string, options: TestRequest = {}): Promise<TestReply> {
  return server.send(method, target, { user: null, ...options });
}

/** Returns the events with these IDs. */
export async function told(server: Pick<TestServer, 'events'>, ...ids: number[]) {
  return (await server.events()).filter(({ id }) => ids.includes(Number(id)));
}

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

/** Gets, for each operation on links, a reply with every status that the API description names. */
export async function linkOperations(send: Exercise, asDenied: Exercise, asBanned: Exercise): Promise<void> {
  const all = '/home/__svc__/links';
  const one = `${all}/{id}`;
  const accept = { accept: 'application/json' };
  const foreign = { origin: 'https://evil.example' };
  const order = (body: unknown, status: number) =>
    send('POST', all, all, status, { headers: { ...json, ...accept }, body: JSON.stringify(body) });
  for (const [method, path] of [
    ['GET', all],
    ['POST', all],
    ['PATCH', one],
    ['DELETE', one],
  ] as const) {
    await send(method, path, path, 401, { user: null, headers: accept });
    await asBanned(method, path, path, 429, { headers: accept });
  }
  await asDenied('GET', all, all, 403, { headers: accept });
  await asDenied('POST', all, all, 403, { headers: { ...json, ...accept }, body: '{"path": "/"}' });
  await order({ path: '/none' }, 404);
  await order({ path: '/', expires: 1e9 }, 422);
  await order({}, 400);
  await send('POST', all, all, 415, { headers: accept, body: 'x' });
  const [first, second] = [await order({ path: '/', note: 'All' }, 201), await order({ path: '/', kind: 'drop' }, 201)].map(
    (reply) => reply.json<NewLink>().id,
  );
  const change = (method: string, status: number, options: TestRequest) => send(method, one, `${all}/${second}`, status, options);
  await change('PATCH', 200, { headers: { ...json, ...accept }, body: '{"note": "Here"}' });
  await change('PATCH', 400, { headers: { ...json, ...accept }, body: '{"kind": "drop"}' });
  await change('PATCH', 415, { headers: accept, body: 'x' });
  await change('PATCH', 422, { headers: { ...json, ...accept }, body: '{"expires": 1e9}' });
  await asDenied('PATCH', one, `${all}/${second}`, 403, { headers: { ...json, ...accept }, body: '{}' });
  await send('GET', all, all, 200, { headers: accept });
  await send('GET', all, all, 200, { headers: page });
  const form = { ...page, 'content-type': 'application/x-www-form-urlencoded' };
  await send('POST', all, all, 200, { headers: form, body: `action=confirm-revoke&selected=${first}` });
  await send('POST', all, all, 303, { headers: form, body: `action=revoke&selected=${first}` });
  await send('DELETE', one, `${all}/${second}`, 400, { headers: { ...accept, ...foreign } });
  await send('DELETE', one, `${all}/${second}`, 204, { headers: accept });
  await send('DELETE', one, `${all}/${second}`, 404, { headers: accept });
  await change('PATCH', 404, { headers: { ...json, ...accept }, body: '{}' });
}
