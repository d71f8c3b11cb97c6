import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, createHmac, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect, createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { calloutEndpoint } from './support/callout-endpoint.ts';
import { selfSigned } from './support/certificates.ts';
import { runProgram } from './support/program.ts';
import { until } from './support/receiver.ts';
import { freePort, isFree } from './support/redis.ts';
import { hasPackage, hasProgram } from './support/requires.ts';
import { watchOutput } from './support/secret-watch.ts';
import { learnSecret, testPassword } from './support/secrets.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/temp.ts';

const recipe = (name: string) => join(process.env.SVC_ROOT ?? process.cwd(), 'examples/recipes', name);

/** Ends a process at the test's end and waits for it. Secrets in its output fail the test. */
function watchChild(t: TestContext, child: ChildProcess, name: string): () => string {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      text += chunk;
    });
  const ended = once(child, 'close');
  const stop = () => [child.kill(), ended][1];
  watchOutput(t, stop, [{ where: `the output of ${name}`, text: () => text }]);
  return () => text;
}

async function startRecipe(t: TestContext, command: string, name: string, env: Record<string, string>, args: string[] = []) {
  const child = spawn(command, [recipe(name), '0', ...args], { env: { PATH: process.env.PATH, ...env } });
  const printed = watchChild(t, child, name);
  await until(`${name} listens`, () => {
    assert.equal(child.exitCode, null, printed());
    return /http:\S+/.test(printed());
  });
  return { url: /http:\S+/.exec(printed())?.[0] ?? '', printed };
}

/** Lets a real server ask an endpoint: alice logs in only with her password. */
async function assertAsked(t: TestContext, url: string) {
  const group = { home_folder_path: join(temporaryFolder(t), '${USER}'), create_home_folder: true };
  const server = await startServer(t, { group, authentications: { directory: { type: 'http', url, timeout: 20 } } });
  assert.equal((await server.get('/home/')).status, 200);
  assert.equal((await server.get('/home/', { user: 'alice:wrong-password' })).status, 401);
}

async function askEndpoint(url: string, credentials: unknown, padding = ''): Promise<[number, string]> {
  const reply = await fetch(url, { method: 'POST', body: JSON.stringify({ credentials, padding }) });
  return [reply.status, await reply.text()];
}

const passwordOf = (username: string, content: string) => ({ type: 'password', username, content });

/** Starts an LDAP directory that contains alice and accepts only TLS. @returns its address, and the authority of its certificate */
async function startDirectory(t: TestContext) {
  const folder = temporaryFolder(t);
  const { keyPath, certPath } = selfSigned(t);
  mkdirSync(join(folder, 'db'));
  const hash = createHash('sha1').update(testPassword).digest('base64');
  const conf = join(folder, 'slapd.conf');
  writeFileSync(
    conf,
    `${['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema\n`).join('')}
modulepath /usr/lib/ldap\nmoduleload back_mdb\nTLSCertificateFile ${certPath}\nTLSCertificateKeyFile ${keyPath}\ndatabase mdb
suffix dc=example,dc=com\ndirectory ${join(folder, 'db')}\naccess to attrs=userPassword by anonymous auth by * none\naccess to * by self read by * none\n`,
  );
  const people = `dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\no: example\ndc: example\n
dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n
dn: uid=alice,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: alice\ncn: Alice\nsn: Liddell\nmail: alice@example.com
userPassword: {SHA}${hash}\n`;
  const added = await runProgram('slapd', ['-T', 'add', '-f', conf], { cwd: folder, input: people });
  assert.equal(added.code, 0, added.output);
  const port = await freePort();
  const child = spawn('slapd', ['-d', '0', '-f', conf, '-h', `ldaps://127.0.0.1:${port}`]);
  const printed = watchChild(t, child, 'slapd');
  await until('slapd listens', async () => {
    assert.equal(child.exitCode, null, printed());
    return !(await isFree(port));
  });
  return { url: `ldaps://127.0.0.1:${port}`, certPath, child };
}

test('the LDAP callout: only alice logs in; if the certificate is unknown or the directory absent, nobody does', async (t) => {
  if (!hasProgram(t, 'slapd') || !hasPackage(t, 'python3-ldap3', '/usr/lib/python3/dist-packages/ldap3')) return;
  const directory = await startDirectory(t);
  const env = { LDAP_URL: directory.url, LDAP_DN: 'uid={},ou=people,dc=example,dc=com', LDAP_CA: directory.certPath };
  const { url } = await startRecipe(t, '/usr/bin/python3', 'ldap_callout.py', env);
  await assertAsked(t, url);
  assert.deepEqual(await askEndpoint(url, passwordOf('alice', testPassword)), [200, '{"account": {"email": "alice@example.com"}}']);
  // A bind without a password succeeds anonymously. The directory would take the names below for alice, or for another entry.
  assert.equal((await askEndpoint(url, passwordOf('alice', '')))[0], 401);
  for (const name of ['', 'ALICE', 'alice ', 'alice,ou=people,dc=example,dc=com', '*', 'bob'])
    assert.equal((await askEndpoint(url, passwordOf(name, testPassword)))[0], 401, `"${name}"`);
  assert.equal((await askEndpoint(url, { ...passwordOf('alice', testPassword), type: 'ssh-key' }))[0], 401);
  assert.equal((await askEndpoint(url, passwordOf('alice', testPassword), 'x'.repeat(70_000)))[0], 503, 'a large request is refused');
  const strange = await startRecipe(t, '/usr/bin/python3', 'ldap_callout.py', { ...env, LDAP_CA: selfSigned(t).certPath });
  assert.equal((await askEndpoint(strange.url, passwordOf('alice', testPassword)))[0], 503, 'the certificate is of another authority');
  const inClear = { cwd: temporaryFolder(t), env: { ...env, LDAP_URL: 'ldap://ldap.example.com' } };
  const clear = await runProgram('/usr/bin/python3', [recipe('ldap_callout.py'), '0'], inClear);
  assert.deepEqual([clear.code, clear.output], [1, 'LDAP_URL must begin with ldaps://, because passwords are sent there\n']);
  directory.child.kill();
  await once(directory.child, 'close');
  assert.equal((await askEndpoint(url, passwordOf('alice', testPassword)))[0], 503, 'nobody logs in while the directory is absent');
});

test('the OpenID Connect callout: valid claims for this client log the user in; after any other reply of the provider, the login is refused', async (t) => {
  const issuer = 'https://id.example.com';
  const secret = 'client secret: 4+4';
  learnSecret(secret, "the client's secret");
  const hour = () => Math.floor(Date.now() / 1000) + 3600;
  const good = () => ({ iss: issuer, aud: 'svc', exp: hour(), preferred_username: 'alice', email: 'a@example.com', email_verified: true });
  const tokenOf = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
  const replyOf = (claims: object) => ({ status: 200, body: JSON.stringify({ access_token: 'a', id_token: tokenOf(claims) }) });
  let next: { status: number; body: string; location?: string } | undefined;
  const provider = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const form = new URLSearchParams(text);
    const isClient = request.headers.authorization === `Basic ${btoa(`svc:${encodeURIComponent(secret)}`)}`;
    const isAlice = form.get('grant_type') === 'password' && form.get('username') === 'alice' && form.get('password') === testPassword;
    const refused = { status: 400, body: `{"error":"${isClient ? 'invalid_grant' : 'invalid_client'}"}` };
    const reply = next ?? (isClient && isAlice ? replyOf(good()) : refused);
    if (next?.location !== undefined) response.setHeader('Location', next.location);
    response.writeHead(reply.status).end(reply.body);
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  t.after(() => provider.close());
  const tokenUrl = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/token`;
  const env = { OIDC_ISSUER: issuer, OIDC_TOKEN_URL: tokenUrl, OIDC_CLIENT: 'svc', OIDC_SECRET: secret };
  const { url, printed } = await startRecipe(t, process.execPath, 'oidc-callout.mjs', env);
  await assertAsked(t, url);
  const ask = () => askEndpoint(url, passwordOf('alice', testPassword));
  assert.deepEqual(await ask(), [200, '{"account":{"email":"a@example.com"}}']);
  next = replyOf({ ...good(), email_verified: false });
  assert.deepEqual(await ask(), [200, '{"account":{}}'], 'an unverified e-mail address is left out');
  next = replyOf({ ...good(), preferred_username: 'bob' });
  assert.equal((await ask())[0], 401, 'the claims are those of another user');
  const other = await calloutEndpoint(t, (response) => response.end());
  for (const reply of [
    ...[{ iss: 'https://other.example.com' }, { aud: ['other'] }, { exp: hour() - 7200 }, { exp: undefined }].map((wrong) =>
      replyOf({ ...good(), ...wrong }),
    ),
    { status: 200, body: '{"access_token":"a"}' },
    { status: 200, body: `{"id_token": ${testPassword}` },
    { status: 200, body: JSON.stringify({ ...good(), padding: 'x'.repeat(70_000) }) },
    { status: 400, body: '{"error":"invalid_client"}' },
    { status: 500, body: '{"error":"invalid_grant"}' },
    { status: 307, body: '{}', location: other.url },
  ]) {
    next = reply;
    assert.deepEqual(await ask(), [503, '{}'], JSON.stringify(reply).slice(0, 100));
  }
  assert.deepEqual(other.asked, [], 'the password is not sent to the target of a redirect');
  assert.match(printed(), /refused: no valid JSON/);
  provider.close();
  provider.closeAllConnections();
  assert.equal((await ask())[0], 503, 'nobody logs in while the provider is absent');
});

test('the webhook inbox accepts real events once each, and refuses forged, old, repeated and oversized requests', async (t) => {
  if (!hasProgram(t, 'python3')) return;
  const key = randomBytes(24);
  const secret = `whsec_${key.toString('base64')}`;
  const folder = temporaryFolder(t);
  const file = join(folder, 'inbox.db');
  const env = { HOOK_SECRET: `whsec_${randomBytes(24).toString('base64')},${secret}` };
  const { url, printed } = await startRecipe(t, 'python3', 'webhook_inbox.py', env, [file]);
  const server = await startServer(t, { event_handlers: { inbox: { type: 'http', target: '40017', url, signing_secret: secret } } });
  assert.equal((await server.put('/home/a.txt', 'hello')).status, 201);
  await until('the event is stored', () => /^200 1 new, 0 repeated$/m.test(printed()));
  const uploaded = (await server.events()).find((event) => Number(event.id) === 40017);
  const send = async (events: unknown, { at = Date.now() / 1000, signingKey = key, changed = '', id = 'msg' } = {}) => {
    const body = JSON.stringify({ events });
    const time = String(Math.floor(at));
    const signature = createHmac('sha256', signingKey).update(`${id}.${time}.${body}`).digest('base64');
    const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,AAAA v1,${signature}` };
    const reply = await fetch(url, { method: 'POST', headers, body: body + changed });
    return [reply.status, await reply.text()];
  };
  const fresh = () => ({ uuid: randomUUID(), id: '40017', data: { path: '/forged' } });
  assert.deepEqual(await send([uploaded]), [200, '0 new, 1 repeated']);
  const batch = [fresh(), fresh()];
  assert.deepEqual(await send(batch), [200, '2 new, 0 repeated']);
  assert.deepEqual(await send([...batch, fresh()]), [200, '1 new, 2 repeated']);
  const refused = [401, 'not signed, or too old'];
  assert.deepEqual(await send([fresh()], { signingKey: randomBytes(24) }), refused, 'a forged request is refused');
  assert.deepEqual(await send([fresh()], { changed: ' ' }), refused, 'a request that was changed on its way is refused');
  assert.deepEqual(await send([fresh()], { at: Date.now() / 1000 - 400 }), refused, 'an old request is refused');
  assert.deepEqual(await send([fresh()], { at: Date.now() / 1000 + 400 }), refused, 'a request from the future is refused');
  assert.deepEqual(await send([fresh()], { id: '' }), refused, 'a request without an ID is refused');
  assert.equal((await fetch(url, { method: 'POST', body: '{"events":[]}' })).status, 401, 'a request without a signature is refused');
  assert.deepEqual(await send([fresh(), { id: '40017' }]), [400, 'no events'], 'one invalid event refuses the whole request');
  // The connection may end before the whole body is sent.
  await fetch(url, { method: 'POST', body: Buffer.alloc(9_999_999) }).catch(() => undefined);
  await until('the large request is refused', () => /^413 too large$/m.test(printed()));
  const rows = "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM inbox').fetchone()[0])";
  assert.equal((await runProgram('python3', ['-c', rows, file], { cwd: folder })).output, '4\n');
});

for (const [name, command] of Object.entries({ 'client.py': 'python3', 'client.mjs': process.execPath }))
  test(`${name} logs in, resumes an upload that broke off, lists the folder, logs out`, async (t) => {
    if (command === 'python3' && !hasProgram(t, command)) return;
    const server = await startServer(t);
    mkdirSync(join(server.home, 'my folder'));
    const offsets: string[] = [];
    // A connection that breaks once, in the middle of the first PATCH.
    const line = createNetServer((client) => {
      const way = connect(server.port, '127.0.0.1');
      let sent = 0;
      client.on('data', (chunk) => {
        const [, offset] = /^PATCH [\s\S]*?\r\nupload-offset: (\d+)\r/i.exec(chunk.toString('latin1')) ?? [];
        if (offset !== undefined) offsets.push(offset);
        if (offsets.length > 0) sent += chunk.length;
        way.write(chunk);
        if (offsets.length === 1 && sent > 300_000) way.end(() => client.destroy());
      });
      client.on('close', () => way.end()).on('error', () => {});
      way.on('data', (chunk) => client.write(chunk));
      way.on('close', () => client.destroy()).on('error', () => {});
    });
    await once(line.listen(0, '127.0.0.1'), 'listening');
    t.after(() => line.close());
    const folder = temporaryFolder(t);
    const content = randomBytes(3_000_000);
    writeFileSync(join(folder, 'a b.bin'), content);
    const base = `http://127.0.0.1:${(line.address() as AddressInfo).port}`;
    const run = (password: string, url = base) => {
      const env = { SVC_USER: 'alice', SVC_PASSWORD: password };
      return runProgram(command, [recipe(name), url, 'a b.bin', '/home/my folder/'], { cwd: folder, env });
    };
    const done = await run(testPassword);
    assert.equal(done.code, 0, done.output);
    assert.match(done.output, /"a b\.bin"/);
    assert.ok(readFileSync(join(server.home, 'my folder/a b.bin')).equals(content));
    assert.equal(offsets.length, 2, `${offsets}`);
    assert.ok(Number(offsets[1]) > 0, 'the upload was resumed, not begun again');
    assert.ok((await server.eventIds()).includes(40037), 'the program logs out');
    assert.equal((await run('wrong-password')).code, 1);
    assert.match((await run(testPassword, 'http://files.example.com')).output, /the password travels by https only/);
  });
