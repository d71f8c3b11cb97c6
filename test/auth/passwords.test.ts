import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import { hashPassword, PasswordVerifier } from '../../src/accounts/passwords.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { run } from '../support/child.ts';
import { ConsoleClient, consoleService } from '../support/console.ts';
import { hashOfCost } from '../support/guesses.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { makeKey, publicKey, startSsh, tryLogins } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Records the cost parameters of each call of scrypt until the test ends. */
function countScrypt(t: TestContext): string[] {
  const real = crypto.scrypt;
  const work: string[] = [];
  const counting = (password: string, salt: Buffer, length: number, options: crypto.ScryptOptions, done: () => void) => {
    work.push([options.N, options.r, options.p, length].join(' '));
    real(password, salt, length, options, done);
  };
  const replace = (scrypt: typeof real) => {
    crypto.scrypt = scrypt;
    syncBuiltinESMExports();
  };
  replace(counting as typeof real);
  t.after(() => replace(real));
  return work;
}

/** Starts every service that accepts a password. Returns, for each way to log in, a function that says whether a password is accepted. */
async function startDoors(t: TestContext, config: Parameters<typeof startSsh>[2] = {}, administrators: Record<string, object> = {}) {
  const server = await startSsh(t, {}, { ...config, services: { console: await consoleService({ administrators }), ...config.services } });
  const console = new ConsoleClient(server.service.listening().find(({ uuid }) => uuid === 'console')?.url ?? '');
  const json = { 'content-type': 'application/json', accept: 'application/json' };
  const form = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const isIn = ({ status }: { status: number }) => status < 300;
  const files: Record<string, (username: string, password: string) => Promise<boolean>> = {
    Basic: async (username, password) =>
      isIn(await server.get('/home/', { user: `${username}:${password}`, headers: { accept: json.accept } })),
    WebDAV: async (username, password) =>
      isIn(await server.send('PROPFIND', '/home/', { user: `${username}:${password}`, headers: { depth: '0' } })),
    login: async (username, password) =>
      isIn(await server.send('POST', '/__svc__/login', { user: null, headers: json, body: JSON.stringify({ username, password }) })),
    form: async (username, password) =>
      isIn(
        await server.send('POST', '/__svc__/login', {
          user: null,
          headers: form,
          body: String(new URLSearchParams({ username, password })),
        }),
      ),
    SFTP: async (username, password) =>
      (await tryLogins(t, server.sshPort, [{ type: 'password', username, password }])).client !== undefined,
  };
  const consoles: typeof files = {
    'console login': async (username, password) => isIn(await console.post('/api/login', { username, password })),
    'console Basic': async (username, password) => isIn(await console.get('/api/me', { user: `${username}:${password}` })),
  };
  return { server, console, files, consoles };
}

test('no service cuts a password at a NUL: only the whole password logs in', async (t) => {
  const password = await cheapHash(testPassword);
  const endpoint = await calloutEndpoint(t, (response) => response.writeHead(401).end());
  const authentications = { own: { type: 'application' }, corporate: { type: 'http', url: endpoint.url } };
  const { server, console, files, consoles } = await startDoors(t, { authentications }, { alice: { password, role: 'operator' } });
  for (const [door, isLetIn] of Object.entries({ ...files, ...consoles })) {
    assert.equal(await isLetIn('alice', testPassword), true, door);
    for (const other of [`${testPassword}\0`, `${testPassword}\0\0`, `${testPassword}\0x`, `\0${testPassword}`])
      assert.equal(await isLetIn('alice', other), false, `${door} ${JSON.stringify(other)}`);
  }
  assert.deepEqual(endpoint.asked, [], 'the callout endpoint is not asked');
  const details = (await server.events()).filter(({ id }) => id === '20021').map(({ data }) => data.details);
  assert.deepEqual(new Set(details), new Set(['The name or the password is not acceptable.']));
  const tested = await console.post(
    '/api/auth-test',
    { username: 'alice', password: `${testPassword}\0` },
    { user: `alice:${testPassword}` },
  );
  assert.deepEqual([tested.status, tested.json().outcome], [200, 'next'], tested.text);
  assert.deepEqual(endpoint.asked, []);
});

test('a password with a lone surrogate does not match a password that has U+FFFD in its place', async (t) => {
  const { files } = await startDoors(t, { account: { password: await cheapHash('pw\ufffd') } });
  assert.equal(await files.login?.('alice', 'pw\ufffd'), true);
  assert.equal(await files.login?.('alice', 'pw\ud800'), false);
});

test('a password with a control character logs in at a callout endpoint, which gets it unchanged', async (t) => {
  const endpoint = await calloutEndpoint(t, (response) => response.writeHead(204).end());
  const { server } = await startDoors(t, { authentications: { corporate: { type: 'http', url: endpoint.url } } });
  const user = `bob:tab\there`;
  assert.equal((await server.get('/home/', { user, headers: { accept: 'application/json' } })).status, 200);
  assert.equal(endpoint.asked[0]?.credentials.content, 'tab\there');
});

test('a new password with control characters is refused, even if it is long enough; svc hash-password refuses it, too', async (t) => {
  const { server } = await startDoors(t, {
    group: { allow_own_password_change: true },
    server: { password_policy: { minimum_length: 8 } },
  });
  const session = await server.login();
  const update = (new_password: string) =>
    server.send('POST', '/home/__svc__/password-update', {
      user: null,
      headers: { authorization: `session ${session}`, 'content-type': 'application/json' },
      body: JSON.stringify({ current_password: testPassword, new_password }),
    });
  const sentence = 'The password must not have control characters.';
  for (const chosen of ['pw\0\0\0\0\0\0', 'long enough\n', '\u001blong enough', 'long\u0085enough']) {
    const reply = await update(chosen);
    assert.deepEqual(
      [reply.status, reply.json<{ errors: [{ message: string }] }>().errors[0].message],
      [422, sentence],
      JSON.stringify(chosen),
    );
    await assert.rejects(hashPassword(chosen), { code: 'bad-request', message: sentence });
  }
  await assert.rejects(hashPassword('long\ud800enough'), { code: 'bad-request' });
  assert.equal((await server.get('/home/', { headers: { accept: 'application/json' } })).status, 200, 'the old password is still valid');
  const hashed = await run(t, ['hash-password'], { cwd: temporaryFolder(t), input: 'tab\there\n' });
  assert.deepEqual([hashed.code, hashed.stdout], [2, '']);
  assert.match(hashed.stderr, /must not have control characters/);
});

test('at each service, an unknown name costs as much work as a known one', async (t) => {
  const disabled = { password: hashOfCost(5), enabled: false };
  const { server, files, consoles } = await startDoors(
    t,
    { account: { password: hashOfCost(5) }, accounts: { disabled, keyless: { email: 'k@example.com' } } },
    { alice: { password: hashOfCost(5), role: 'operator' }, vera: { password: hashOfCost(5), role: 'viewer' } },
  );
  await server.eventIds();
  const work = countScrypt(t);
  const workOf = async (attempt: Promise<boolean>) => {
    work.length = 0;
    assert.equal(await attempt, false);
    return [...work];
  };
  for (const [door, isLetIn] of Object.entries({ ...files, ...consoles })) {
    const known = await workOf(isLetIn('alice', `wrong at ${door}`));
    assert.deepEqual(known, ['32 8 1 32'], door);
    for (const name of ['nobody', 'constructor', 'disabled', 'keyless', 'vera'])
      assert.deepEqual(await workOf(isLetIn(name, `wrong at ${door}`)), known, `${name} at ${door}`);
  }
});

test('if the hashes of known names differ in cost, each unknown name has one of these costs, always the same one', async (t) => {
  const work = countScrypt(t);
  const verifier = new PasswordVerifier();
  const hashes = [hashOfCost(3), hashOfCost(3), hashOfCost(6)];
  const costOf = async (name: string, guess: string) => {
    work.length = 0;
    await verifier.verifyUnknown(name, guess, hashes, { source: '192.0.2.1', isKnown: false });
    return work.join();
  };
  const found = new Set<string>();
  for (let index = 0; index < 40; index++) {
    const cost = await costOf(`name ${index}`, 'one');
    assert.equal(await costOf(`name ${index}`, 'another'), cost, 'a name always has the same cost');
    found.add(cost);
  }
  assert.deepEqual(found, new Set(['8 8 1 32', '64 8 1 32']));
});

test('a line of ssh_keys whose type is missing or is not the type of its key logs nobody in', async (t) => {
  const folder = temporaryFolder(t);
  const keys = Object.fromEntries(['typed', 'mistyped', 'wordless'].map((name) => [name, makeKey(folder, name)]));
  const lineOf = (name: string) => publicKey(keys[name] ?? '');
  const blobOf = (name: string) => lineOf(name).split(' ')[1] ?? '';
  const ssh_keys = [`${lineOf('typed')} comment`, `ssh-rsa ${blobOf('mistyped')}`, blobOf('wordless')];
  const server = await startSsh(t, {}, { account: { ssh_keys } });
  const isIn = async (name: string) => {
    const attempt = { type: 'publickey', username: 'alice', key: readFileSync(keys[name] ?? '') };
    return (await tryLogins(t, server.sshPort, [attempt])).client !== undefined;
  };
  assert.deepEqual([await isIn('typed'), await isIn('mistyped'), await isIn('wordless')], [true, false, false]);
});
