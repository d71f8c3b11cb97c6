import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from './support/child.ts';
import { Client } from './support/client.ts';
import { allowSecrets, secretsShown, watchOutput } from './support/secret-watch.ts';
import { findSecrets, learnFromText, learnSecret, testPassword, testUser } from './support/secrets.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/temp.ts';

// These tests plant secrets, and remove them again.

test('a secret is found in every coding, and as a part of longer text', () => {
  const secret = 'Märk"er <&> 9\\';
  learnSecret(secret, 'a hard one');
  const utf8 = Buffer.from(secret);
  for (const [coding, text] of Object.entries({
    plain: `x${secret}x`,
    json: JSON.stringify({ a: [secret] }),
    percent: `?next=${encodeURIComponent(secret)}&x`,
    'percent in lower case': encodeURIComponent(secret).toLowerCase().replace('m', 'M'),
    form: new URLSearchParams({ password: secret }).toString(),
    html: '<p>Märk&quot;er &lt;&amp;&gt; 9\\</p>',
    hex: utf8.toString('hex'),
    HEX: `0x${utf8.toString('hex').toUpperCase()}`,
    ...Object.fromEntries(['a:', 'bo:', 'bob:', 'alice:'].map((user) => [user, `Basic ${Buffer.from(user + secret).toString('base64')}`])),
    base64url: Buffer.from(`${secret}?>~`).toString('base64url'),
  }))
    assert.match(findSecrets(text).join(), /^a hard one \(Märk…\), /, coding);
  for (const text of ['Märk', secret.slice(1), encodeURIComponent(secret.slice(0, -1)), utf8.toString('base64').slice(0, -6)])
    assert.deepEqual(findSecrets(text), [], text);
});

test('the secrets of a configuration are found anywhere in it', () => {
  const yaml = `
accounts: {alice: {password: "$scrypt$not-learned"}}
authentications: {c: {password: 'learned-one-1', url: "https://user:learned-two-2@host/?token=learned-three-3"}}
event_handlers: {h: {signing_secret: "whsec_learned4, whsec_learned5", password: "\${env:NOT_LEARNED}"}}
server: {state: {secret: learned-six-6, url: redis://:learned%2Dseven-7@h}}
  headers: ["X-Api-Key: learned-nine-9", 'Authorization: Bearer learned-ten-10']`;
  learnFromText(yaml, 'the example');
  learnFromText('-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\n', 'the example');
  for (const [number, secret] of Object.entries({
    1: 'learned-one-1',
    2: 'learned-two-2',
    3: 'learned-three-3',
    4: 'whsec_learned4',
    5: 'whsec_learned5',
    6: 'learned-six-6',
    7: 'learned-seven-7',
    9: 'learned-nine-9',
    10: 'learned-ten-10',
    8: 'MIGHAgEAMBMGByqGSM49AgEGCCqGSM49',
  }))
    assert.equal(findSecrets(`x ${secret} y`).length, 1, number);
  for (const text of ['$scrypt$not-learned', '${env:NOT_LEARNED}']) assert.deepEqual(findSecrets(text), [], text);
});

test('a planted leak is found in the log, in the journal, in any other file, and in the output of svc', async (t) => {
  const server = await startServer(t);
  const session = await server.login();
  assert.equal((await server.put('/home/a', 'x')).status, 201);
  assert.deepEqual(secretsShown(t), []);
  server.log.push(`{"message":"planted ${testPassword}"}\n`);
  appendFileSync(join(server.folder, 'data/journal/events-00000001.ndjson'), `${Buffer.from(testUser).toString('base64')}\n`);
  mkdirSync(join(server.folder, 'data/deep/down'), { recursive: true });
  writeFileSync(join(server.folder, 'data/deep/down/.hidden'), Buffer.from(`\0\xff${session}`, 'latin1'));
  writeFileSync(join(server.folder, 'core.17'), 'x');
  // The message about an invalid option repeats the argument.
  const ended = await run(t, ['auth-test', '--password', 'planted-argument', '--planted-argument'], { cwd: server.folder });
  assert.notEqual(ended.code, 0);
  const found = secretsShown(t).map((what) => what.replace(/session \(.{4}…\)/, 'session'));
  assert.deepEqual(found.sort(), [
    'core.17: a process crashed and left its memory',
    'data/deep/down/.hidden: a session, as it is',
    'data/journal/events-00000001.ndjson: the password of the tests (mark…), in base64',
    'standard error of svc auth-test: --password of svc (plan…), as it is',
    'the log: the password of the tests (mark…), as it is',
  ]);
  for (const text of found) assert.ok(!text.includes(testPassword) && !text.includes(session), 'the failure shows no secret itself');
  writeFileSync(join(server.folder, 'core.17'), '');
  allowSecrets(t, /./, 'planted above');
});

test('a finding fails its test after everything that was started has ended and the folders were removed', async () => {
  const hooks: (() => unknown)[] = [];
  const context = { after: (hook: () => unknown) => void hooks.push(hook) } as unknown as TestContext;
  const folder = temporaryFolder(context);
  const order: string[] = [];
  watchOutput(context, () => order.push('server'), [{ where: 'the log', text: () => `${order} ${testPassword}` }]);
  context.after(() => order.push('later hook'));
  // Like node:test: hooks run in order, including those that are added meanwhile, until one throws.
  const failure = await (async () => {
    for (const hook of hooks) await hook();
  })().then(
    () => undefined,
    (error: Error) => error.message,
  );
  assert.equal(failure, 'secrets are shown:\nthe log: the password of the tests (mark…), as it is');
  assert.deepEqual(order, ['server', 'later hook']);
  assert.throws(() => writeFileSync(join(folder, 'x'), ''), /ENOENT/);
});

test('the client of the tests refuses a reply that contains a secret, whether its own request or another client sent the secret', async (t) => {
  const server = createServer((request, response) => {
    const { authorization = '' } = request.headers;
    if (request.url === '/header') response.setHeader('X-Echo', authorization);
    response.writeHead(Number(request.url === '/body' ? 404 : 200), { 'content-type': 'application/json' });
    response.end(
      request.url === '/header'
        ? '{}'
        : JSON.stringify({ errors: [{ message: Buffer.from(authorization.slice(6), 'base64').toString() }] }),
    );
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (const target of ['/body', '/header', '/page'])
    await assert.rejects(client.get(target, { user: 'bob:never-shown-again' }), /shows secrets/, target);
  await assert.rejects(
    client.raw(
      `GET /body HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(testUser).toString('base64')}\r\nConnection: close\r\n\r\n`,
    ),
    /shows the password/,
  );
  assert.equal((await client.get('/header', { user: null })).status, 200);
});
