import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { httpDoors, httpFolderDoors, sftpDoors, urlOf } from '../support/doors.ts';
import { startServer } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { tree } from '../support/tree.ts';

/** Rules, each with other spellings that it must match: decomposed, singletons, Hangul in letters, marks in another order, other case. */
const spellings: [string, string[]][] = [
  ['/Größe*', ['Gro\u0308ße', 'GRO\u0308ẞE.txt']],
  ['/\u00c5*', ['\u212b', 'a\u030a']],
  ['/\u03a9*', ['\u2126']],
  ['/한글', ['\u1112\u1161\u11ab\u1100\u1173\u11af']],
  ['/\u1e69x', ['s\u0307\u0323x', '\u1e61\u0323X']],
];

test('no interface creates a name that a rule denies in another of its canonical forms', async (t) => {
  const services = { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0 } };
  const rules = spellings.map(([rule]) => [rule, 'deny-full-control']);
  const server = await startServer(t, { services, group: { permissions: [['allow-full-control'], ...rules] } });
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'spare'), 'old');
  const port = Number(new URL(server.service.listening().find(({ uuid }) => uuid === 'sftp')?.url ?? '').port);
  const { sftp } = await loginSftp(t, port);
  const before = tree(server.home);
  for (const name of spellings.flatMap(([, names]) => names)) {
    for (const [what, door] of Object.entries({ ...httpDoors, ...httpFolderDoors })) {
      const { status, text } = await door(server, { folder: '/', name });
      assert.equal(status, what.startsWith('command') ? 422 : 403, `${what} ${JSON.stringify(name)}: ${text}`);
    }
    for (const [what, door] of Object.entries(sftpDoors))
      assert.equal(await door(sftp, name), statusCodes.permissionDenied, `${what} ${name}`);
    assert.deepEqual(tree(server.home), before, name);
  }
  assert.equal((await server.put(urlOf('/d/Größe'), 'new')).status, 201, 'the rule concerns only the root');
});

test('a name of many combining marks, which would take quadratic time to compose, is refused before the rules are checked', async (t) => {
  const rules = Array.from({ length: 50 }, (_, index) => [`/a${index}*`, 'deny-full-control']);
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ...rules] } });
  await server.get('/home/');
  const marks = (bytes: number) => '\u0301\u0316'.repeat(bytes / 4);
  const before = process.cpuUsage();
  assert.equal((await server.put(urlOf(`/${marks(2000)}`), 'x')).status, 400);
  const commands = JSON.stringify({ commands: [{ command: 'create-folder', target: marks(256 * 1024) }] });
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  assert.equal((await server.send('POST', '/home/', { body: commands, headers })).status, 422);
  const login = JSON.stringify({ username: marks(256 * 1024), password: 'marker-none' });
  assert.equal((await server.send('POST', '/__svc__/login', { user: null, body: login, headers })).status, 401);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 5_000_000, `${(user + system) / 1000} ms, but to compose one such name would take a minute`);
});
