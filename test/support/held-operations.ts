import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { TestReply, TestRequest } from './client.ts';
import { startInspector } from './inspector.ts';
import { multipart } from './multipart.ts';
import { startServer, type TestServer } from './server.ts';

const json = { accept: 'application/json' };
const asJson = { 'content-type': 'application/json' };

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

/** Covers the replies about files that an inspection refuses or holds, and about held uploads. */
export async function heldOperations(t: TestContext, exerciseOf: (server: TestServer) => Exercise, asBanned: Exercise): Promise<void> {
  const inspector = await startInspector(t);
  const server = await startServer(t, {
    inspections: { check: { type: 'http', url: inspector.url } },
    group: { inspections: [['check']] },
  });
  const send = exerciseOf(server);
  const [collection, one] = ['/home/__svc__/held/', '/home/__svc__/held/{held}'] as const;
  await send('PUT', '/home/{file}', '/home/a', 202, { headers: json, body: 'odd' });
  await send('PUT', '/home/{file}', '/home/a', 422, { headers: json, body: 'bad' });
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'spare'), 'odd');
  const command = JSON.stringify({ commands: [{ command: 'copy', target: 'spare', destination: '/home/d' }] });
  await send('POST', '/home/', '/home/', 202, { headers: { ...json, ...asJson }, body: command });
  const form = multipart([
    ['action', 'upload-file'],
    ['upload-file', 'odd', 'f'],
  ]);
  await send('POST', '/home/{folder}/', '/home/d/', 202, { headers: { ...json, 'content-type': form.type }, body: form.body });
  const draft = { ...json, 'upload-draft-interop-version': '9', 'upload-complete': '?1' };
  const uploads = '/home/__svc__/uploads/';
  const named = { ...draft, 'content-disposition': 'inline; filename=b' };
  await send('POST', uploads, uploads, 202, { headers: named, body: 'odd' });
  const begun = await server.send('POST', uploads, { headers: { ...named, 'upload-complete': '?0' }, body: 'o' });
  const rest = { ...draft, 'upload-offset': '1', 'content-type': 'application/partial-upload' };
  await send('PATCH', '/home/__svc__/uploads/{upload}', String(begun.headers.location), 202, { headers: rest, body: 'dd' });
  const listed = await send('GET', collection, collection, 200, { headers: json });
  const id = listed.json<{ held: { id: string }[] }>().held[0]?.id;
  await send('GET', one, `${collection}${id}`, 200, { headers: json });
  await send('DELETE', one, `${collection}${id}`, 204, { headers: json });
  const urlencoded = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
  const other = listed.json<{ held: { id: string }[] }>().held[1]?.id;
  for (const [status, body] of [
    [400, 'action=withdraw'],
    [404, 'action=withdraw&selected=a'],
    [422, 'action=withdraw&selected=a&selected=b'],
    [200, `action=confirm-withdraw&selected=${other}`],
    [303, `action=withdraw&selected=${other}`],
  ] as const)
    await send('POST', collection, collection, status, { headers: urlencoded, body });
  await send('POST', collection, collection, 415, { headers: { ...json, ...asJson }, body: '{}' });
  for (const [method, path, target] of [
    ['GET', collection, collection],
    ['POST', collection, collection],
    ['GET', one, `${collection}a`],
    ['DELETE', one, `${collection}a`],
  ] as const) {
    await send(method, path, target, 401, { user: null, headers: json });
    await asBanned(method, path, target, 429, { headers: json });
    if (path === one) await send(method, path, target, 404, { headers: json });
  }
}
