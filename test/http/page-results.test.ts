import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { reasonIn } from '../../src/http/html/pages/locales/reasons.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { unremovable } from '../support/small-disk.ts';

function postForm(server: TestServer, language: string, fields: [string, string][]) {
  const body = new URLSearchParams(fields).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html', 'accept-language': language };
  return server.send('POST', '/home/', { headers, body });
}

/** What a page says of each target, as `target: reason`. */
function reasonsOf(page: string): string[] {
  return [...page.matchAll(/<li><bdi>(.*?)<\/bdi> <span class="hint">(.*?)<\/span><\/li>/g)].map(
    ([, target, reason]) => `${target}: ${reason}`,
  );
}

const reasons = [
  { language: 'en', gone: 'Path not found.', forbidden: 'Permission denied.' },
  { language: 'de', gone: 'gibt es nicht mehr', forbidden: 'dafür fehlt die Berechtigung' },
  { language: 'fr', gone: 'n’existe plus', forbidden: 'vous n’en avez pas le droit' },
  { language: 'es', gone: 'ya no existe', forbidden: 'no tiene permiso para ello' },
];

for (const { language, gone, forbidden } of reasons) {
  test(`what went wrong with each target is told in the reader's language: ${language}`, async (t) => {
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

test('a folder of which something stays: the path and the reason', async (t) => {
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

test('messages that there are no words for stay as they are, and names in them decide nothing', () => {
  assert.equal(reasonIn('de', 'The action "x" is not known.'), undefined);
  assert.equal(reasonIn('de', 'Path not found.: Permission denied.'), 'Path not found.: dafür fehlt die Berechtigung');
  assert.equal(reasonIn('en', 'Path not found.'), 'Path not found.');
  for (const message of [
    'The quota of this account is used up.',
    'A name must not be longer than 255 bytes.',
    'The folder already exists.',
  ])
    for (const language of ['de', 'fr', 'es']) assert.notEqual(reasonIn(language, message), undefined, `${language}: ${message}`);
});
