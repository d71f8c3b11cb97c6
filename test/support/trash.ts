import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Client, TestReply, TestRequest } from './client.ts';
import { cheapHash } from './passwords.ts';
import { temporaryFolder } from './temp.ts';

/** An item of the trash, as the service shows it. */
export interface Shown {
  id: string;
  path: string;
  size: number;
  is_directory: boolean;
  deleted: number;
  by: string;
}

export const asJson = { 'content-type': 'application/json' };

/** Returns the items in an account's trash, newest first. */
export async function trashOf(client: Client, user?: string): Promise<Shown[]> {
  const reply = await client.send('GET', '/home/__svc__/trash', user === undefined ? {} : { user });
  assert.equal(reply.status, 200, reply.text);
  return reply.json<{ trash: Shown[] }>().trash;
}

type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

const json = { accept: 'application/json' };
const foreign = { origin: 'https://evil.example' };

/** Returns an account with a trash. It may replace `/drop-file`, but not delete it. */
export async function trashKeeper(t: TestContext) {
  return {
    password: await cheapHash('keeper-words'),
    home_folder_path: temporaryFolder(t),
    permissions: [['allow-full-control'], ['/drop-file', 'allow-write', 'allow-read']],
    trash: { days: 30 },
  };
}

/** Gets, for each operation on the trash, a reply with every status that the API description names. */
export async function trashOperations(main: Client, send: Exercise, asBanned: Exercise): Promise<void> {
  const all = '/home/__svc__/trash';
  const [one, restore] = [`${all}/{id}`, `${all}/{id}/restore`];
  const user = 'keeper:keeper-words';
  const no = { user: null, headers: json };
  const id = async (name: string) => {
    await main.put(`/home/${name}`, 'x', { user });
    await main.send('DELETE', `/home/${name}`, { user });
    const [item] = (await send('GET', all, all, 200, { user, headers: json })).json<{ trash: { id: string }[] }>().trash;
    return item?.id ?? '';
  };
  const gone = `${all}/${'0'.repeat(32)}`;
  await send('GET', all, all, 401, no);
  await send('DELETE', all, all, 401, no);
  await send('POST', all, all, 401, no);
  await send('DELETE', one, gone, 401, no);
  await send('POST', restore, `${gone}/restore`, 401, no);
  for (const [method, path] of [
    ['GET', all],
    ['DELETE', all],
    ['POST', all],
    ['DELETE', one],
    ['POST', restore],
  ] as const)
    await asBanned(method, path, path, 429, { headers: json });
  const first = await id('kept');
  await send('DELETE', one, gone, 404, { user, headers: json });
  await send('POST', restore, `${gone}/restore`, 404, { user, headers: json });
  await send('POST', restore, `${all}/${first}/restore`, 400, { user, headers: { ...asJson, ...json }, body: '{"paths": "/x"}' });
  await send('POST', restore, `${all}/${first}/restore`, 415, { user, headers: json, body: 'x' });
  await send('POST', restore, `${all}/${first}/restore`, 403, { user, headers: { ...asJson, ...json }, body: '{"path": "/__svc__/x"}' });
  await main.put('/home/kept', 'other', { user });
  await send('POST', restore, `${all}/${first}/restore`, 409, { user, headers: json });
  await send('POST', restore, `${all}/${first}/restore`, 201, { user, headers: { ...asJson, ...json }, body: '{"path": "again"}' });
  for (const [method, path, target] of [
    ['DELETE', all, all],
    ['DELETE', one, `${all}/${first}`],
  ] as const)
    await send(method, path, target, 400, { user, headers: { ...json, ...foreign } });
  await send('DELETE', one, `${all}/${await id('ended')}`, 204, { user, headers: json });
  // The account may replace this file, but not delete it.
  for (const content of ['old', 'new']) await main.put('/home/drop-file', content, { user });
  const [dropped] = (await send('GET', all, all, 200, { user, headers: json })).json<{ trash: { id: string }[] }>().trash;
  await send('DELETE', one, `${all}/${dropped?.id}`, 403, { user, headers: json });
  await send('DELETE', all, all, 422, { user, headers: json });
  await send('POST', restore, `${all}/${dropped?.id}/restore`, 201, { user, headers: { ...asJson, ...json }, body: '{"path": "back"}' });
  await send('DELETE', all, all, 204, { user, headers: json });

  const html = { accept: 'text/html' };
  const form = { user, headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' } };
  const [a, b] = [await id('a'), await id('b')];
  await send('GET', all, all, 200, { user, headers: html });
  await send('POST', all, all, 400, { ...form, body: 'action=restore' });
  await send('POST', all, all, 415, { user, headers: { ...html, 'content-type': 'text/plain' }, body: 'action=restore' });
  await send('POST', all, all, 200, { ...form, body: `action=confirm-end&selected=${a}` });
  await send('POST', all, all, 404, { ...form, body: `action=restore&selected=${'0'.repeat(32)}` });
  await main.put('/home/a', 'taken', { user });
  await send('POST', all, all, 409, { ...form, body: `action=restore&selected=${a}` });
  await send('POST', all, all, 422, { ...form, body: `action=restore&selected=${a}&selected=${b}` });
  await send('POST', all, all, 303, { ...form, body: 'action=empty' });
}
