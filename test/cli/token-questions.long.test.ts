import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeSecret } from '../../src/lib/secrets.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { run } from '../support/child.ts';
import { startServer, writeConfig } from '../support/server.ts';
import { bearer, makeToken } from '../support/tokens.ts';

test('svc explain shows the permissions of a token, by its secret and by its ID, and the service agrees', async (t) => {
  const server = await startServer(t);
  await writeConfig(server.folder, { accounts: { bob: {} } });
  const { id, token } = await makeToken(server, { name: 'ci', path: '/in', permissions: ['allow-read'] });
  const explain = (given: string, ...args: string[]) =>
    run(t, ['explain', ...args, '--token', given], { cwd: server.folder, input: token });
  for (const given of [id, token, '-']) {
    const allowed = await explain(given, 'GET', '/home/in/a.txt');
    assert.equal(allowed.code, 0, allowed.stdout + allowed.stderr);
    assert.match(allowed.stdout, new RegExp(`token ${id} "ci" until \\S+; reaches /in; has allow-read`));
    assert.ok(!allowed.stdout.includes(token));
  }
  for (const target of ['/home/in/a.txt', '/home/out/a.txt']) {
    const refused = await explain(id, 'PUT', target);
    assert.equal(refused.code, 1, refused.stdout);
    assert.match(refused.stdout, /the account has this right, but the token does not/);
    assert.equal((await server.put(target, 'a', bearer(token))).status, 403);
  }
  assert.match((await explain(id, 'GET', '/home/in/', '--user', 'bob')).stdout, /the token belongs to another account/);
  assert.equal((await server.send('DELETE', `/home/__svc__/tokens/${id}`)).status, 204);
  const over = await explain(token, 'GET', '/home/in/a.txt', '--json');
  const { allowed, status, reason } = JSON.parse(over.stdout);
  assert.deepEqual([over.code, allowed, status, reason], [1, false, 401, 'The token was revoked.']);
  for (const [given, said] of [
    ['none', /has no such token/],
    [makeSecret('token').secret, /has no such token/],
    [`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`, /checksum/],
  ] as const) {
    const failed = await explain(given, 'GET', '/home/in/');
    assert.equal(failed.code, 2, failed.stdout);
    assert.match(failed.stderr, said);
  }
  assert.match((await run(t, ['explain', 'LOGIN', '--token', id], { cwd: server.folder })).stderr, /LOGIN cannot be combined with a token/);
});

test('svc auth-test sends the ID of a token to the callout of its account; with --url, it sends any ID to the given endpoint', async (t) => {
  let verdict = 204;
  const { url, asked } = await calloutEndpoint(t, (response) => response.writeHead(verdict).end());
  const config = { authentications: { corp: { type: 'http', url, tokens: true } } };
  const server = await startServer(t, config);
  const { id, token } = await makeToken(server);
  await writeConfig(server.folder, config);
  const ask = (...args: string[]) => run(t, ['auth-test', ...args], { cwd: server.folder });
  asked.length = 0;
  for (const given of [id, token]) assert.equal((await ask('--token', given)).code, 0);
  assert.equal((await ask('--url', url, '--username', 'alice', '--token', 'anyID')).code, 0);
  assert.deepEqual(
    asked.map(({ credentials: { type, username, content } }) => [type, username, content]),
    [
      ['token', 'alice', id],
      ['token', 'alice', id],
      ['token', 'alice', 'anyID'],
    ],
  );
  verdict = 403;
  const refused = await ask('--token', id, '--json');
  assert.equal(refused.code, 11);
  assert.equal(JSON.parse(refused.stdout).methods[0].credentials, 'token');
  await writeConfig(server.folder, { authentications: { corp: { type: 'http', url } } });
  assert.match((await ask('--token', id)).stdout, /accepts no tokens/);
  await writeConfig(server.folder, config);
  assert.equal((await server.send('DELETE', `/home/__svc__/tokens/${id}`)).status, 401, 'the endpoint refuses the account, too');
  verdict = 204;
  assert.equal((await server.send('DELETE', `/home/__svc__/tokens/${id}`)).status, 204);
  const over = await ask('--token', token);
  assert.deepEqual([over.code, /The token was revoked/.test(over.stdout)], [11, true]);
  assert.equal((await ask('--token', id, '--password', 'x')).code, 2);
  assert.match((await ask('--token', 'none')).stderr, new RegExp(`${join(server.folder, 'data')} has no such token`));
});
