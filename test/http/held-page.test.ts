import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { beginDraft, completeDraft } from '../support/doors.ts';
import { heldOf, hidden, inspecting } from '../support/inspecting.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

const url = '/home/__svc__/held/';
const html = { accept: 'text/html' };

const page = (server: TestServer, headers: Record<string, string> = {}) => server.get(url, { headers: { ...html, ...headers } });

function post(server: TestServer, fields: [string, string][], headers: Record<string, string> = {}, user?: string) {
  const all = { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers };
  return server.send('POST', url, { body: new URLSearchParams(fields).toString(), headers: all, ...(user && { user }) });
}

test('the page of held uploads shows sizes and reasons, has four languages, and withdraws uploads after a question', async (t) => {
  const server = await inspecting(t, { answer_within: 0.05, maximum_size: 1000 });
  assert.match((await server.get('/home/', { headers: html })).text, /href="\/home\/__svc__\/held\/"/);
  assert.match((await page(server)).text, /None of your files is waiting for review/);
  await server.put('/home/d/<odd>.csv', 'odd', {});
  await server.put('/home/d/failed', 'fail');
  await server.put('/home/d/large', 'x'.repeat(2000));
  await server.put('/home/d/slow', 'wait');
  const { text, headers } = await page(server);
  assert.equal(headers['cache-control'], 'no-store');
  assert.match(text, /class="button quiet to-place" href="\/home\/__svc__\/held\/" aria-current="page"/);
  const items = [
    ...text.matchAll(
      /<bdi>([^<]*)<\/bdi><\/span><p class="hint">([^<]*)<\/p><\/td><td role="cell">([^<]*)<.*?<a href="\/home\/d\/"><bdi>([^<]*)</g,
    ),
  ];
  assert.deepEqual(
    items.map(([, ...facts]) => facts.map((fact) => fact.trim())),
    [
      ['slow', 'It is being checked.', '4 bytes', '/d'],
      ['large', 'It is too large to be checked.', '2 kB', '/d'],
      ['failed', 'It could not be checked.', '4 bytes', '/d'],
      ['&lt;odd&gt;.csv', 'Somebody has to look at it.', '3 bytes', '/d'],
    ],
  );
  for (const [language, title] of [
    ['de', 'Warten auf Prüfung'],
    ['fr', 'En attente de vérification'],
    ['es', 'Pendientes de revisión'],
  ])
    assert.match((await page(server, { 'accept-language': String(language) })).text, new RegExp(`<title>${title}`));
  const ids = Object.fromEntries((await heldOf(server)).map(({ path, id }) => [path, id]));
  const id = (path: string) => ids[path] ?? assert.fail(path);
  const question = await post(server, [
    ['action', 'confirm-withdraw'],
    ['selected', id('/d/large')],
    ['selected', id('/d/failed')],
  ]);
  assert.match(question.text, /Withdraw these 2 uploads\?/);
  assert.equal((await heldOf(server)).length, 4, 'the question withdraws nothing');
  const fields = [...question.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
  const done = await post(server, fields);
  assert.deepEqual([done.status, done.headers.location], [303, url]);
  const flash = await page(server, { cookie: String(done.headers['set-cookie']?.[0]).split(';', 1)[0] as string });
  assert.match(flash.text, /2 uploads were withdrawn\./);
  assert.deepEqual((await heldOf(server)).map(({ path }) => path).sort(), ['/d/<odd>.csv', '/d/slow']);
  assert.equal(hidden(join(server.home, 'd')).length, 2);
});

test('on the page of held uploads, forms that are invalid, from another origin or from another account change nothing', async (t) => {
  const bob = `bob:${testPassword}`;
  const server = await inspecting(t, {}, { accounts: { bob: { password: await cheapHash(testPassword) } } });
  await server.put('/home/d/name', 'odd');
  const [item] = await heldOf(server);
  const selected: [string, string] = ['selected', item?.id ?? ''];
  const withdraw: [string, string][] = [['action', 'withdraw'], selected];
  assert.equal((await post(server, [['action', 'withdraw']])).status, 400);
  assert.equal((await post(server, [['action', 'release'], selected])).status, 400);
  assert.equal(
    (
      await post(server, [
        ['action', 'withdraw'],
        ['selected', 'x'],
      ])
    ).status,
    404,
  );
  assert.equal((await post(server, withdraw, { origin: 'https://evil.example' })).status, 400);
  assert.equal((await post(server, withdraw, {}, bob)).status, 404);
  assert.equal((await server.send('POST', url, { body: '{}', headers: { 'content-type': 'application/json' } })).status, 415);
  assert.doesNotMatch((await server.get(url, { headers: html, user: bob })).text, /name="selected"/);
  assert.equal((await heldOf(server)).length, 1);
  const plain = await startServer(t);
  assert.doesNotMatch((await plain.get('/home/', { headers: html })).text, /__svc__\/held|inspected/);
});

test('a moved file that is withdrawn on the page is back in its place; a second withdrawal gets 404', async (t) => {
  const server = await inspecting(t);
  writeFileSync(join(server.home, 'spare'), 'odd');
  assert.equal((await server.send('MOVE', '/home/spare', { headers: { destination: '/home/d/name' } })).status, 202);
  assert.equal(existsSync(join(server.home, 'spare')), false);
  const [item] = await heldOf(server);
  const fields: [string, string][] = [
    ['action', 'withdraw'],
    ['selected', item?.id ?? ''],
  ];
  assert.equal((await post(server, fields)).status, 303);
  assert.equal(readFileSync(join(server.home, 'spare'), 'utf8'), 'odd');
  const again = await post(server, fields);
  assert.deepEqual([again.status, /Nothing is here|no longer/.test(again.text)], [404, true]);
});

test('a client that lost the reply to a draft upload learns at the URL of the upload that the file is held', async (t) => {
  const server = await inspecting(t);
  server.inspector.decide = () => ({ status: 202 });
  const begun = await beginDraft(server, { folder: '/d', name: 'x' });
  const location = String(begun.headers.location);
  assert.equal((await completeDraft(server, location)).status, 202);
  const asked = await server.get(location, { headers: { 'upload-draft-interop-version': '9' } });
  assert.deepEqual([asked.status, asked.headers['upload-complete'], asked.headers.held], [204, '?1', (await heldOf(server))[0]?.id]);
});
