import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

const html = { accept: 'text/html' };
const asForm = { ...html, 'content-type': 'application/x-www-form-urlencoded' };

test('an archive of one selected member has the name of the member; an archive of several has the name of their folder', async (t) => {
  const server = await startServer(t);
  for (const name of ['Photos', 'other']) mkdirSync(join(server.home, 'in', name), { recursive: true });
  const named = async (...names: string[]) => {
    const body = ['action=download-members', ...names.map((name) => `selected-members=${name}`)].join('&');
    return (await server.send('POST', '/home/in/', { headers: asForm, body })).headers['content-disposition'];
  };
  assert.equal(await named('Photos'), 'attachment; filename="Photos.zip"');
  assert.equal(await named('Photos', 'other'), 'attachment; filename="in.zip"');
});

test('the page of a 429 says when to try again, and has no button that would cause another 429', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 2, ban_seconds: 300 } } });
  for (const user of ['alice:wrong', 'alice:wrong too']) await server.get('/home/', { user });
  const { status, text, headers } = await server.get('/home/', { headers: html });
  assert.equal(status, 429);
  assert.ok(Number(headers['retry-after']) <= 300);
  assert.match(text, /You can try again in \d minutes \(<span data-time="\d+">.*\d:\d\d.*\sUTC<\/span>\)\./);
  assert.doesNotMatch(text, /class="button primary"/);
});

test('the menu has a link to the API page only if this is configured, and shows the space only with a quota', async (t) => {
  const [plain, all] = [await startServer(t), await startServer(t, { service: { show_api_link: true }, group: { quota_size: 1000 } })];
  const [before, after] = [await plain.get('/home/', { headers: html }), await all.get('/home/', { headers: html })];
  assert.doesNotMatch(before.text, /openapi\.html|id="space"/);
  assert.match(after.text, /id="space"[\s\S]*openapi\.html/);
});

test('the page that changes the password shows the rules first', async (t) => {
  const server = await startServer(t, {
    server: { password_policy: { minimum_length: 12, character_requirements: ['digit', 'symbol'], history: 3 } },
    group: { allow_own_password_change: true },
  });
  const session = await server.login();
  const page = await server.get('/home/__svc__/password-update', {
    user: null,
    headers: { ...html, cookie: `SVC_HTTP_SESSION=${session}` },
  });
  const rules = [
    'at least 12 characters',
    'a digit',
    'a character that is neither a letter nor a digit',
    'to differ from your last 3 passwords',
  ];
  assert.deepEqual([...page.text.matchAll(/<li>([^<]*)<\/li>/g)].map(([, rule]) => rule).slice(-rules.length), rules);
  assert.ok(page.text.indexOf('at least 12') < page.text.indexOf('id="current"'));
});

test('three or more recent changes of one kind in one folder are grouped', async (t) => {
  const server = await startServer(t, { group: { show_recent: true } });
  mkdirSync(join(server.home, 'in'));
  writeFileSync(join(server.home, 'old'), '');
  for (const name of ['in/a', 'in/b', 'in/c', 'x', 'y']) assert.equal((await server.put(`/home/${name}`, 'x')).status, 201);
  const { text } = await server.get('/home/__svc__/recent', { headers: html });
  assert.equal(text.match(/<details>/g)?.length, 1);
  assert.match(text, /<summary class="i file"><span>[^<]*: 3 items<\/span><\/summary>[\s\S]*>c<[\s\S]*>b<[\s\S]*>a<[\s\S]*<\/details>/);
});

test('the message of an error page is a sentence in every language', async (t) => {
  const server = await startServer(t);
  for (const [language, message] of [
    ['en', 'This name is reserved.'],
    ['de', 'der Name ist für den Dienst reserviert.'],
    ['fr', 'ce nom est réservé au service.'],
  ] as const) {
    const { text } = await server.get('/home/__svc__/nothing', { headers: { ...html, 'accept-language': language } });
    assert.ok(text.includes(`<p class="detail sentence">${message}</p>`), text);
  }
});
