import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { control } from '../support/control.ts';
import { allowSecrets } from '../support/secret-watch.ts';
import { startServer } from '../support/server.ts';
import { bearer } from '../support/tokens.ts';

test('svc tokens creates, narrows, lists, rotates and revokes tokens at a running service', async (t) => {
  const server = await startServer(t, { group: { tokens: { maximum_days: 30 } }, accounts: { bob: { tokens: { enabled: false } } } });
  mkdirSync(join(server.home, 'in/today'), { recursive: true });
  writeFileSync(join(server.home, 'in/a.txt'), 'a');
  const folder = join(server.folder, 'data');
  const run = (...args: string[]) => control(t, folder, 'tokens', ...args);
  allowSecrets(t, /^standard output of svc tokens$/, 'the command prints the token that it makes');
  const none = await run('list');
  assert.deepEqual([none.code, none.stdout, none.stderr], [0, '', 'svc: no tokens\n']);
  const made = await run(
    'create',
    '--account',
    'alice',
    '--name',
    'ci',
    '--path',
    '/in',
    '--permission',
    'allow-read',
    '--permission',
    'allow-list',
    '--expires',
    '8h',
  );
  assert.match(made.stdout, /^svc_t_[0-9A-Za-z]{49}\n$/);
  const token = made.stdout.trim();
  assert.equal((await server.get('/home/in/a.txt', bearer(token))).text, 'a');
  assert.equal((await server.put('/home/in/b.txt', 'b', bearer(token))).status, 403);
  const narrowed = JSON.parse((await run('narrow', token, '--path', '/in/today', '--expires', '10m', '--json')).stdout);
  assert.equal((await server.get('/home/in/a.txt', bearer(narrowed.token))).status, 403);
  assert.ok(Date.parse(narrowed.expires) - Date.now() <= 600_000);
  const listed = (await run('list', '--account', 'alice', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const item of [narrowed, ...listed]) assert.ok(jsonOutputs.tokens.strict().safeParse(item).success, JSON.stringify(item));
  assert.deepEqual(
    listed.map(({ name, path, account, parent }) => [name, path, account, parent]),
    [
      ['', '/in/today', 'alice', listed[1]?.id],
      ['ci', '/in', 'alice', null],
    ],
  );
  assert.match((await run('list')).stdout, /^id +account +name +path +expires +last_used\n/);
  const id = listed[1]?.id;
  const rotated = (await run('rotate', id, '--overlap', '1h')).stdout.trim();
  for (const secret of [token, rotated]) assert.equal((await server.get('/home/in/a.txt', bearer(secret))).status, 200);
  const revoked = await run('revoke', id, 'unknown');
  assert.deepEqual([revoked.code, revoked.stdout, revoked.stderr], [1, 'revoked 2 tokens\n', 'svc: there is no token unknown\n']);
  assert.equal((await server.get('/home/in/a.txt', bearer(token))).status, 401);
  assert.equal((await run('revoke', '--account', 'alice')).stdout, 'revoked 1 token\n');
  assert.equal((await server.get('/home/in/a.txt', bearer(rotated))).status, 401);
  for (const [args, said] of [
    [['create', '--account', 'carol'], /There is no account "carol"/],
    [['create', '--account', 'bob'], /may not have tokens/],
    [['create', '--account', 'alice', '--expires', '31d'], /at most 30 days/],
    [['create', '--account', 'alice', '--permission', 'allow-all'], /is not a permission/],
    [['create', '--account', 'alice', '--expires', 'soon'], /must be seconds/],
    [['revoke'], /Name the tokens to revoke/],
    [['rotate', 'unknown'], /There is no token unknown/],
    [['narrow', 'secret'], /This is not a valid token/],
  ] as const) {
    const failed = await run(...args);
    assert.equal(failed.code, 2, failed.stderr);
    assert.match(failed.stderr, said);
  }
  const told = (await server.events()).filter(({ id }) => id === '40081');
  assert.ok(told.length === 3 && told.every(({ account, data }) => account.name === 'alice' && typeof data.administrator === 'string'));
});
