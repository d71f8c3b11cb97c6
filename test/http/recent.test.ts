import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestReply } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { asJson, trashOf } from '../support/trash.ts';

const html = { accept: 'text/html' };

function recent(server: TestServer, user?: string | null): Promise<TestReply> {
  return server.get('/home/__svc__/recent', { headers: html, ...(user !== undefined && { user }) });
}

/** Returns the items of the page as texts, without the times; links as `[text](URL)`. */
function itemsOf({ status, text }: TestReply): string[] {
  assert.equal(status, 200, text);
  return [...text.matchAll(/<li>\n(<(?:a|span) class="i [\s\S]*?)<\/li>/g)].map(([, item = '']) =>
    item
      .replace(/<span data-time="\d{10}">[^<]*<\/span>/, 'T')
      .replace(/<a [^>]*?href="([^"]*)"[^>]*>([\s\S]*?)<\/a>/g, '[$2]($1)')
      .replace(/<[^>]+>/g, '')
      .replaceAll('&nbsp;&middot;', ' ·')
      .replace(/\s+/g, ' ')
      .trim(),
  );
}

test('the page lists changes by the account, the newest first, even if others change the same files', async (t) => {
  const password = await cheapHash(testPassword);
  const server = await startServer(t, { group: { show_recent: true }, accounts: { bob: { password } } });
  const bob = `bob:${testPassword}`;
  assert.match((await recent(server)).text, /You have not changed anything recently/);
  await server.send('PUT', '/home/Folder/');
  await server.put('/home/a.txt', 'a');
  await server.put('/home/Folder/%3Cb%3E.txt', 'b');
  await server.put("/home/bob's.txt", 'b', { user: bob });
  await server.put('/home/a.txt', 'again');
  await server.send('MOVE', '/home/a.txt', { headers: { destination: '/home/c.txt' } });
  await server.send('MOVE', '/home/c.txt', { headers: { destination: '/home/Folder/c.txt' } });
  await server.send('COPY', '/home/Folder/c.txt', { headers: { destination: '/home/d.txt' } });
  await server.send('DELETE', '/home/d.txt');
  await server.get('/home/Folder/c.txt');
  const folder = '[/Folder](/home/Folder/)';
  const files = '[Files](/home/)';
  assert.deepEqual(itemsOf(await recent(server)), [
    `d.txt Deleted · ${files} · T`,
    `d.txt Copied, no longer there · ${files} · T`,
    `[c.txt](/home/Folder/c.txt) Moved · ${folder} · T`,
    `c.txt Renamed from a.txt, no longer there · ${files} · T`,
    `a.txt Uploaded, no longer there · ${files} · T`,
    `[&lt;b&gt;.txt](/home/Folder/%3Cb%3E.txt) Uploaded · ${folder} · T`,
    `[Folder](/home/Folder/) Created · ${files} · T`,
  ]);
  assert.deepEqual(itemsOf(await recent(server, bob)), [`[bob&#39;s.txt](/home/bob&#39;s.txt) Uploaded · ${files} · T`]);
  assert.equal((await server.send('POST', '/home/__svc__/recent')).status, 405);
  const menu = (await server.get('/home/', { headers: html })).text;
  assert.match(menu, /<a class="button quiet to-place" href="\/home\/__svc__\/recent"/);
});

test('a restored item is listed as restored, not as deleted, also under another name, until it is deleted again', async (t) => {
  const server = await startServer(t, { group: { show_recent: true, trash: { days: 30 } } });
  for (const name of ['a', 'b', 'c']) {
    writeFileSync(join(server.home, name), name);
    assert.equal((await server.send('DELETE', `/home/${name}`)).status, 204);
  }
  const items = await trashOf(server);
  const restore = async (path: string, body?: string) => {
    const id = items.find((item) => item.path === path)?.id;
    const reply = await server.send('POST', `/home/__svc__/trash/${id}/restore`, body === undefined ? {} : { headers: asJson, body });
    assert.equal(reply.status, 201, reply.text);
  };
  await restore('/a');
  await restore('/b', '{"path":"new b"}');
  const files = '[Files](/home/) · T';
  const restored = [`[new b](/home/new%20b) Restored · ${files}`, `[a](/home/a) Restored · ${files}`];
  assert.deepEqual(itemsOf(await recent(server)), [...restored, `c Deleted · ${files}`]);
  await server.send('DELETE', '/home/a');
  assert.deepEqual(itemsOf(await recent(server)), [`a Deleted · ${files}`, restored[0], `c Deleted · ${files}`]);
});

test('permissions are checked when the page is shown: an item that may not be listed is omitted, whether it exists or not', async (t) => {
  const permissions = [['allow-full-control'], ['/drop/*', 'allow-write'], ['/through/*', 'allow-traverse', 'allow-write']];
  const server = await startServer(t, { group: { show_recent: true }, account: { permissions } });
  for (const name of ['drop', 'through']) mkdirSync(join(server.home, name));
  for (const path of ['drop/secret', 'through/secret', 'through/gone', 'open'])
    assert.equal((await server.put(`/home/${path}`, 'x')).status, 201, path);
  rmSync(join(server.home, 'through/gone'));
  // The name now belongs to a folder, not to the uploaded file.
  rmSync(join(server.home, 'open'));
  mkdirSync(join(server.home, 'open'));
  assert.deepEqual(itemsOf(await recent(server)), ['open Uploaded, no longer there · [Files](/home/) · T']);
});

test('a folder that is gone has no link, and several deleted items of different kinds have a neutral icon', async (t) => {
  const server = await startServer(t, { group: { show_recent: true } });
  await server.send('PUT', '/home/Gone/');
  for (const name of ['Gone/x', 'a.txt', 'b.pdf']) await server.put(`/home/${name}`, 'x');
  await server.commands(
    '/home/',
    ['Gone', 'a.txt', 'b.pdf'].map((target) => ({ command: 'delete', target })),
  );
  const page = await recent(server);
  assert.ok(itemsOf(page).includes('x Uploaded, no longer there · /Gone · T'), itemsOf(page).join('\n'));
  assert.match(page.text, /<summary class="i "><span>Deleted: 3 items</);
});

test('without show_recent the page is refused, and it is always refused to anonymous clients', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  assert.equal((await recent(server)).status, 403);
  assert.equal((await recent(server, null)).status, 302);
  assert.doesNotMatch((await server.get('/home/', { headers: html })).text, /__svc__\/recent/);
  const open = await startServer(t, {
    group: { show_recent: true },
    authentications: { public: { type: 'anonymous', group: 'DEFAULT_GROUP' } },
  });
  assert.equal((await open.put('/home/a', 'x', { user: null })).status, 201);
  assert.equal((await recent(open, null)).status, 403);
});

test('the page lists at most a hundred changes', async (t) => {
  const server = await startServer(t, { group: { show_recent: true } });
  const commands = Array.from({ length: 130 }, (_, index) => ({ command: 'create-folder', target: `f${index}` }));
  assert.equal((await server.commands('/home/', commands)).status, 200);
  const items = itemsOf(await recent(server));
  assert.equal(items.length, 100);
  assert.match(items[0] ?? '', /f129/);
});

test('a new folder and what was copied or uploaded into it form one entry', async (t) => {
  const server = await startServer(t, { group: { show_recent: true } });
  mkdirSync(join(server.home, 'Photos/2026'), { recursive: true });
  mkdirSync(join(server.home, 'To'));
  for (const name of ['Photos/a', 'Photos/2026/b']) writeFileSync(join(server.home, name), 'x');
  await server.commands('/home/', [{ command: 'copy', target: 'Photos', destination: 'To' }]);
  await server.send('PUT', '/home/New/');
  for (const name of ['c', 'd']) await server.put(`/home/New/${name}`, 'x');
  await server.put('/home/e', 'x');
  await server.put('/home/To/f', 'x');
  const page = await recent(server);
  const groups = [
    ...page.text.matchAll(
      /<summary class="i folder">(.*?)<\/summary>[\s\S]*?<\/ul><\/details>\n<p class="hint facts"><span><a href="([^"]*)"/g,
    ),
  ];
  assert.deepEqual(
    groups.map(([, title = '', folder]) => [title.replace(/<[^>]+>/g, ''), folder]),
    [
      ['Uploaded: New (3 items)', '/home/'],
      ['Copied: Photos (4 items)', '/home/To/'],
    ],
  );
  assert.equal(page.text.match(/<li>\n/g)?.length, 2 + 3 + 4, 'other changes are entries of their own');
});
