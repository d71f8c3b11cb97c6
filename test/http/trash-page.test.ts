import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { trashOf } from '../support/trash.ts';

const url = '/home/__svc__/trash';
const html = { accept: 'text/html' };

function page(server: TestServer, headers: Record<string, string> = {}) {
  return server.get(url, { headers: { ...html, ...headers } });
}

function post(server: TestServer, fields: [string, string][], headers: Record<string, string> = {}) {
  const asForm = { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers };
  return server.send('POST', url, { headers: asForm, body: new URLSearchParams(fields).toString() });
}

/** Returns the message of the next page. */
async function message(server: TestServer, cookie: unknown): Promise<string | undefined> {
  const { text } = await page(server, { cookie: String(cookie).split(';', 1)[0] as string });
  return /<p class="notice success" role="status">([^<]*)/.exec(text)?.[1];
}

test('the page of the trash restores and removes without scripts, and asks before it removes', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  const menu = () => server.get('/home/', { headers: html });
  assert.match((await menu()).text, /href="\/home\/__svc__\/trash"/);
  assert.match((await page(server)).text, /The trash is empty\..*stays here for 30 days/s);
  mkdirSync(join(server.home, 'folder'));
  for (const name of ['a', 'b', 'c', 'folder/<d>']) {
    writeFileSync(join(server.home, name), name);
    assert.equal((await server.send('DELETE', `/home/${encodeURIComponent(name).replace('%2F', '/')}`)).status, 204);
  }
  for (const name of ['x', 'y']) writeFileSync(join(server.home, name), name);
  const ask = (...names: string[]) =>
    server.send('POST', '/home/', {
      headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams([['action', 'confirm-delete'], ...names.map((name) => ['selected-members', name])] as [
        string,
        string,
      ][]).toString(),
    });
  assert.match((await ask('x')).text, /You can restore it from the trash\./);
  assert.match((await ask('x', 'y')).text, /You can restore them from the trash\./);
  const { text } = await page(server);
  const namesIn = (shown: string) => [...shown.matchAll(/data-name="([^"]*)"/g)].map(([, name]) => name);
  assert.deepEqual(namesIn(text), ['&lt;d&gt;', 'c', 'b', 'a']);
  const byFolder = (await server.get(`${url}?sort=folder&order=desc`, { headers: html })).text;
  assert.equal(namesIn(byFolder)[0], '&lt;d&gt;');
  assert.match(byFolder, /class="folder" aria-sort="descending"><a href="\?sort=folder&amp;order=asc">/);
  assert.deepEqual(namesIn((await server.get(`${url}?sort=name&order=asc`, { headers: html })).text), ['&lt;d&gt;', 'a', 'b', 'c']);
  const ids = Object.fromEntries((await trashOf(server)).map(({ path, id }) => [path, id]));
  const id = (path: string) => ids[path] ?? assert.fail(path);

  const restored = await post(server, [
    ['action', 'restore'],
    ['selected', id('/a')],
    ['selected', id('/folder/<d>')],
  ]);
  assert.deepEqual([restored.status, restored.headers.location], [303, url]);
  assert.equal(await message(server, restored.headers['set-cookie']), '2 items were restored.');
  assert.equal(readFileSync(join(server.home, 'folder/<d>'), 'utf8'), 'folder/<d>');

  writeFileSync(join(server.home, 'b'), 'another');
  const taken = await post(server, [
    ['action', 'restore'],
    ['selected', id('/b')],
  ]);
  assert.equal(taken.status, 409);
  assert.match(taken.text, /name="path" required maxlength="255" autocomplete="off" value="b \(2\)"/);
  const other = await post(server, [
    ['action', 'restore'],
    ['selected', id('/b')],
    ['path', 'b (2)'],
  ]);
  assert.equal(other.status, 303);
  assert.equal(readFileSync(join(server.home, 'b (2)'), 'utf8'), 'b');

  const question = await post(server, [
    ['action', 'confirm-end'],
    ['selected', id('/c')],
  ]);
  assert.equal(question.status, 200);
  assert.match(question.text, /Delete “c” for good\?/);
  assert.equal((await trashOf(server)).length, 1, 'the question removes nothing');
  const fields = [...question.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)].map(
    ([, name = '', value = '']): [string, string] => [name, value],
  );
  const ended = await post(server, fields);
  assert.equal(await message(server, ended.headers['set-cookie']), 'One item was deleted for good.');
  await server.send('DELETE', '/home/a');
  assert.match((await post(server, [['action', 'confirm-empty']])).text, /name="action" value="empty"/);
  assert.equal((await post(server, [['action', 'empty']])).status, 303);
  assert.deepEqual(await trashOf(server), []);
});

test('malformed and cross-site forms of the trash change nothing; without the permission there is no button to remove', async (t) => {
  const permissions = [['allow-read', 'allow-list', 'allow-write']];
  const server = await startServer(t, { group: { trash: { days: 1 }, permissions } });
  for (const content of ['old', 'new']) await server.put('/home/a', content);
  const [item] = await trashOf(server);
  const id = item?.id ?? '';
  const { text } = await page(server);
  assert.match(text, /value="restore"/);
  assert.doesNotMatch(text, /value="confirm-e/);
  for (const [fields, status, headers] of [
    [[['action', 'restore']], 400],
    [
      [
        ['action', 'nonsense'],
        ['selected', id],
      ],
      400,
    ],
    [
      [
        ['action', 'end'],
        ['selected', id],
      ],
      403,
    ],
    [
      [
        ['action', 'restore'],
        ['selected', 'x'],
      ],
      404,
    ],
    [
      [
        ['action', 'restore'],
        ['selected', id],
        ['path', '../../x'],
      ],
      400,
    ],
    [
      [
        ['action', 'restore'],
        ['selected', id],
      ],
      400,
      { origin: 'https://evil.example' },
    ],
  ] as [[string, string][], number, Record<string, string>?][])
    assert.equal((await post(server, fields, headers)).status, status, JSON.stringify(fields));
  assert.equal((await post(server, [['action', 'empty']])).status, 303, 'items that may not be removed stay');
  assert.deepEqual(
    (await trashOf(server)).map((trashed) => trashed.id),
    [id],
  );
  assert.ok(existsSync(join(server.home, 'a')));
  const plain = await startServer(t);
  assert.doesNotMatch((await plain.get('/home/', { headers: html })).text, /__svc__\/trash/);
});
