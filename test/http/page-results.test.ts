import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { unremovable } from '../support/small-disk.ts';

function postForm(server: TestServer, language: string, fields: [string, string][]) {
  const body = new URLSearchParams(fields).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', 'accept-language': language };
  return server.send('POST', '/home/', { headers, body });
}

function reasonsOf(page: string): string[] {
  return [...page.matchAll(/<li><bdi>(.*?)<\/bdi> <span class="hint">(.*?)<\/span><\/li>/g)].map(
    ([, target, reason]) => `${target}: ${reason}`,
  );
}

const reasons = [
  { language: 'en', gone: 'Path not found.', forbidden: 'Permission denied.' },
  { language: 'de', gone: 'gibt es nicht mehr', forbidden: 'dafür fehlt die Berechtigung' },
  { language: 'fr', gone: 'n’existe plus', forbidden: 'vous n’y êtes pas autorisé' },
  { language: 'es', gone: 'ya no existe', forbidden: 'no tiene permiso para ello' },
];

for (const { language, gone, forbidden } of reasons) {
  test(`the failure of each target is described in the reader's language: ${language}`, async (t) => {
    const server = await startServer(t, {
      account: { permissions: [['allow-full-control'], ['*kept.txt', 'allow-read', 'allow-list']] },
      service: { triggers: ['Approve'] },
    });
    for (const name of ['kept.txt', 'goes.txt', 'stays.txt']) writeFileSync(join(server.home, name), '');
    const deleted = await postForm(server, language, [
      ['action', 'delete-members'],
      ['selected-members', 'goes.txt'],
      ['selected-members', '<b>missing'],
      ['selected-members', 'kept.txt'],
    ]);
    assert.equal(deleted.status, 422);
    assert.deepEqual(reasonsOf(deleted.text), [`&lt;b&gt;missing: ${gone}`, `kept.txt: ${forbidden}`]);
    assert.deepEqual(readdirSync(server.home), ['kept.txt', 'stays.txt']);
    const triggered = await postForm(server, language, [
      ['action', 'Approve'],
      ['selected-members', 'stays.txt'],
      ['selected-members', 'missing'],
    ]);
    assert.deepEqual(reasonsOf(triggered.text), [`missing: ${gone}`]);
  });
}

test('if a part of a deleted folder remains, the page shows its path and the reason', async (t) => {
  const held = unremovable(t);
  if (!held) return;
  const server = await startServer(t, { group: { home_folder_path: held.home } });
  const reply = await postForm(server, 'de', [
    ['action', 'delete-members'],
    ['selected-members', 'd'],
  ]);
  const [said = ''] = reasonsOf(reply.text);
  assert.match(said, new RegExp(`^d: ${held.left}: (wird gerade benutzt|dafür fehlt die Berechtigung)$`));
});

test('a script that shows messages gets them in the language of the reader, other clients in English', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-full-control'], ['*kept.txt', 'allow-read']] } });
  writeFileSync(join(server.home, 'kept.txt'), '');
  const remove = async (headers: Record<string, string>) => {
    const body = JSON.stringify({ commands: [{ command: 'delete', target: ['kept.txt', 'missing', '..'] }] });
    const reply = await server.send('POST', '/home/', { headers: { 'content-type': 'application/json', ...headers }, body });
    return (JSON.parse(reply.text) as { errors: { message: string }[] }).errors.map(({ message }) => message);
  };
  const english = ['Permission denied.', 'Path not found.', 'A name must not be empty, "." or "..".'];
  assert.deepEqual(await remove({}), english);
  assert.deepEqual(await remove({ 'accept-language': 'de' }), english);
  assert.deepEqual(await remove({ prefer: 'translated-messages' }), english);
  assert.deepEqual(await remove({ prefer: 'translated-messages', 'accept-language': 'ja' }), english);
  assert.deepEqual(await remove({ prefer: 'respond-async, translated-messages', 'accept-language': 'de-CH, en;q=0.5' }), [
    'dafür fehlt die Berechtigung',
    'gibt es nicht mehr',
    'dieser Name ist nicht möglich',
  ]);
  const headers = { prefer: 'translated-messages', 'accept-language': 'fr' };
  const missing = await server.send('GET', '/home/missing', { headers });
  assert.deepEqual(JSON.parse(missing.text), { errors: [{ message: 'n’existe plus' }] });
});
