import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonOutputs } from '../../src/cli/config/schema.ts';
import { control } from '../support/control.ts';
import { told, visit } from '../support/links.ts';
import { startServer } from '../support/server.ts';

test('svc links creates, lists and revokes shared links at a running service; their URLs begin with public_url', async (t) => {
  const service = { public_url: 'https://files.example.com/' };
  const server = await startServer(t, { service, accounts: { bob: { links: { enabled: false } } } });
  mkdirSync(join(server.home, 'in'));
  const folder = join(server.folder, 'data');
  const run = (...args: string[]) => control(t, folder, 'links', ...args);
  writeFileSync(join(server.folder, 'password'), 'a word\nmore');
  const made = await run('create', '--account', 'alice', '--path', '/in', '--kind', 'drop', '--expires', '3d', '--note', 'Orders');
  assert.match(made.stdout, /^https:\/\/files\.example\.com\/__svc__\/s\/svc_l_[0-9A-Za-z]{49}\/\n$/);
  const at = new URL(made.stdout.trim()).pathname;
  assert.equal((await visit(server, 'PUT', `${at}a.txt`, { body: 'a' })).status, 201);
  const locked = await run('create', '--account', 'alice', '--path', '/in', '--password-file', join(server.folder, 'password'), '--json');
  const { id, url, has_password } = JSON.parse(locked.stdout);
  assert.deepEqual([has_password, (await visit(server, 'GET', new URL(url).pathname)).status], [true, 401]);
  const listed = (await run('list', '--account', 'alice', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    listed.map(({ link, path, name, account }) => [link, path, name, account]),
    [
      ['download', '/in', '', 'alice'],
      ['drop', '/in', 'Orders', 'alice'],
    ],
  );
  for (const item of listed) assert.ok(jsonOutputs.links.strict().safeParse(item).success, JSON.stringify(item));
  assert.ok(!JSON.stringify(listed).includes('svc_l_'));
  for (const [refused, text] of [
    [['--account', 'bob', '--path', '/in'], 'may not have links'],
    [['--account', 'nobody', '--path', '/in'], 'no account'],
    [['--account', 'alice', '--path', '/none'], 'not found'],
    [['--account', 'alice', '--path', '/in', '--kind', 'x'], '"kind"'],
  ] as const) {
    const { code, stderr } = await run('create', ...refused);
    assert.ok(code !== 0 && stderr.includes(text), stderr);
  }
  assert.deepEqual(await run('revoke', id).then(({ code, stdout }) => [code, stdout]), [0, 'revoked 1 link\n']);
  assert.equal((await visit(server, 'GET', new URL(url).pathname)).status, 410);
  assert.equal((await run('revoke', '--all')).stdout, 'revoked 1 link\n');
  assert.equal((await visit(server, 'PUT', `${at}b.txt`, { body: 'b' })).status, 410);
  assert.equal((await told(server, 40084)).length, 2);
});
