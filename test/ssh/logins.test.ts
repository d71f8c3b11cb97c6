import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { hasProgram } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { installedPackage, makeKey, makeOpensshKey, publicKey, type SshTestServer, startSsh, tryLogins } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

/** The reply of the service to a command, which shows that the login succeeded. */
const takesNoCommands = /offers no commands/;
const one = (method: string) => [`PreferredAuthentications=${method}`, 'NumberOfPasswordPrompts=1'];

async function sshStart(
  t: TestContext,
  ...rest: [Record<string, unknown>?, Parameters<typeof startSsh>[2]?]
): Promise<SshTestServer | undefined> {
  return hasProgram(t, 'ssh') ? startSsh(t, ...rest) : undefined;
}

function dataOf(events: readonly ServiceEvent[], id: number): Record<string, unknown>[] {
  return events.filter((event) => event.id === String(id)).map(({ data }) => data);
}

test('OpenSSH logs in with a password, by keyboard-interactive and with keys; banner and events are right', async (t) => {
  const server = await sshStart(t, { before_login_message: 'Authorised use only.' });
  if (!server) return;
  for (const method of ['password', 'keyboard-interactive', 'publickey']) {
    const { code, output } = await server.openssh('ssh', ['alice@127.0.0.1', 'ls'], { options: one(method) });
    assert.match(output, takesNoCommands, `${method}: ${output}`);
    assert.match(output, /^Authorised use only\.\r?$/m);
    assert.equal(code, 1);
  }
  const wrong = await server.openssh('ssh', ['alice@127.0.0.1', 'ls'], { options: one('password'), password: 'wrong' });
  assert.match(wrong.output, /Permission denied \(publickey,password,keyboard-interactive\)/);
  await server.stop();
  const events = await server.events();
  assert.equal(dataOf(events, 30014).length, 4);
  assert.equal(dataOf(events, 20137).length, 3);
  assert.equal(dataOf(events, 20021).length, 1);
  const ended = events.filter(({ id }) => id === '30015');
  assert.deepEqual(ended.map(({ account }) => account.name).sort(), ['Unknown', 'alice', 'alice', 'alice']);
  assert.deepEqual(new Set(ended.map(({ component }) => component.type)), new Set(['ssh']));
  assert.match(String(ended[0]?.data.client), /^OpenSSH_/);
  assert.match(JSON.stringify(ended[0]?.data.algorithms), /"host_key":"ssh-ed25519"/);
  // All events of one connection have the same request_id.
  assert.equal(new Set(events.filter(({ data }) => data.request_id !== undefined).map(({ data }) => data.request_id)).size, 4);
});

test('RSA keys need SHA-2 and 2048 bits; SHA-1, shorter keys, and keys that the account does not have are refused', async (t) => {
  if (!hasProgram(t, 'ssh')) return;
  const folder = temporaryFolder(t);
  const [rsa, short, ecdsa, stranger] = [
    await makeOpensshKey(folder, 'rsa', '-t', 'rsa', '-b', '2048'),
    await makeOpensshKey(folder, 'short', '-t', 'rsa', '-b', '1024'),
    await makeOpensshKey(folder, 'ecdsa', '-t', 'ecdsa', '-b', '384'),
    makeKey(folder, 'stranger'),
  ];
  const server = await startSsh(t, {}, { account: { ssh_keys: [rsa, short, ecdsa].map(publicKey) } });
  const tryKey = async (key: string, ...options: string[]) => {
    const how = { identity: key, options: [...one('publickey'), ...options] };
    return (await server.openssh('ssh', ['alice@127.0.0.1', 'ls'], how)).output;
  };
  for (const algorithm of ['rsa-sha2-256', 'rsa-sha2-512'])
    assert.match(await tryKey(rsa, `PubkeyAcceptedAlgorithms=${algorithm}`), takesNoCommands, algorithm);
  assert.match(await tryKey(ecdsa), takesNoCommands);
  assert.match(await tryKey(rsa, 'PubkeyAcceptedAlgorithms=ssh-rsa'), /Permission denied/, 'SHA-1');
  assert.match(await tryKey(short, 'RequiredRSASize=1024'), /Permission denied/, '1024 bits');
  assert.match(await tryKey(stranger), /Permission denied/);
  const denied = dataOf(await server.events(), 20021);
  assert.deepEqual(denied, [{ username: 'alice', details: 'No account of this name has the key.', request_id: denied[0]?.request_id }]);
});

test('with required_credentials: both, a key and a password are needed, in either order; the first alone grants nothing', async (t) => {
  const server = await sshStart(t, {}, { group: { required_credentials: 'both' } });
  if (!server) return;
  const login = async (methods: string, password?: string) =>
    (await server.openssh('ssh', ['-v', 'alice@127.0.0.1', 'ls'], { options: one(methods), ...(password ? { password } : {}) })).output;
  for (const methods of ['publickey,password', 'password,publickey', 'keyboard-interactive,publickey']) {
    const output = await login(methods);
    assert.match(output, /with partial success/);
    assert.match(output, takesNoCommands, methods);
  }
  const onlyKey = await login('publickey');
  assert.match(onlyKey, /with partial success/);
  assert.match(onlyKey, /Permission denied \(password,keyboard-interactive\)/, 'only the other kind is offered');
  assert.match(await login('publickey,password', 'wrong'), /Permission denied/);
  assert.match(await login('password'), /Permission denied \(publickey\)/);
  await server.stop();
  const first = dataOf(await server.events(), 20126).map(({ credentials }) => credentials);
  assert.deepEqual(first, ['ssh-key', 'password', 'password', 'ssh-key', 'ssh-key', 'password']);
});

test('if required_credentials is a single kind, only this kind is offered, and the other is refused', async (t) => {
  const groups = { KEYS: { required_credentials: 'ssh-key', home_folder_path: '/tmp' } };
  const server = await sshStart(t, {}, { group: { required_credentials: 'ssh-key' } });
  if (!server) return;
  const output = async (from: SshTestServer, method: string) =>
    (await from.openssh('ssh', ['alice@127.0.0.1', 'ls'], { options: one(method) })).output;
  assert.match(await output(server, 'publickey'), takesNoCommands);
  assert.match(await output(server, 'password'), /Permission denied \(publickey\)/);
  // If groups require different kinds, all kinds are offered, and the account decides.
  const mixed = await startSsh(t, {}, { groups, account: { group: 'KEYS' } });
  assert.match(await output(mixed, 'password'), /Permission denied \(publickey,password,keyboard-interactive\)/);
  assert.match(String(dataOf(await mixed.events(), 20142)[0]?.details), /requires ssh-key/);
});

test('a client with 50 keys has six attempts, which count once for a ban', async (t) => {
  if (!hasProgram(t, 'ssh')) return;
  const server = await startSsh(t, {}, { server: { security_policy: { ban_after_failures: 2 } } });
  const keys = Array.from({ length: 50 }, (_, index) => makeKey(server.clientFolder, `key${index}`));
  const options = [...keys.map((key) => `IdentityFile=${key}`), `IdentityFile=${server.key}`, ...one('publickey')];
  // `openssh` names alice's own key before the others, so OpenSSH offers it first. For bob, all of the keys are wrong.
  const { output } = await server.openssh('ssh', ['bob@127.0.0.1', 'ls'], { options });
  assert.match(output, /Received disconnect|Connection closed|Too many/);
  const ended = dataOf(await server.events(), 30015)[0];
  assert.equal(ended?.details, 'Too many attempts to log in.');
  assert.match((await server.openssh('ssh', ['alice@127.0.0.1', 'ls'])).output, takesNoCommands, 'the address is not banned yet');
});

test('wrong passwords over SSH ban the address for HTTP, too', async (t) => {
  if (!hasProgram(t, 'ssh')) return;
  const server = await startSsh(t, {}, { server: { security_policy: { ban_after_failures: 3 } } });
  for (const password of ['wrong1', 'wrong2', 'wrong3'])
    await server.openssh('ssh', ['alice@127.0.0.1', 'ls'], { options: one('password'), password });
  assert.equal((await server.get('/home/', { user: `alice:${testPassword}` })).status, 429);
  const { output } = await server.openssh('ssh', ['alice@127.0.0.1', 'ls'], { options: one('password') });
  assert.match(output, /kex_exchange_identification|Connection (closed|reset)/);
  assert.ok(dataOf(await server.events(), 20005).length >= 2);
});

test('the callout gets a key only after a valid signature, as the base64 blob, and with a creator of type ssh', async (t) => {
  if (!hasProgram(t, 'ssh')) return;
  let answer = { status: 204, body: '' };
  const callout = await calloutEndpoint(t, (response) => response.writeHead(answer.status).end(answer.body));
  const server = await startSsh(t, { public_error: true }, { authentications: { id: { type: 'http', url: callout.url } } });
  assert.match((await server.openssh('ssh', ['carol@127.0.0.1', 'ls'], { options: one('publickey') })).output, takesNoCommands);
  const { type, username, content, creator } = callout.asked[0]?.credentials ?? {};
  const [, blob] = publicKey(server.key).split(' ');
  assert.deepEqual([type, username, content, creator], ['ssh-key', 'carol', blob, { uuid: 'sftp', type: 'ssh' }]);
  assert.equal(callout.asked.length, 1, 'the endpoint is asked about the key once');
  answer = { status: 403, body: JSON.stringify({ message: 'The account has expired.' }) };
  const { output } = await server.openssh('ssh', ['carol@127.0.0.1', 'ls'], { options: one('password') });
  assert.match(output, /The account has expired\.\r?\n[\s\S]*Permission denied/);
});

test('a change of the user name during a login ends the connection, and signatures over another session are invalid', async (t) => {
  const server = await startSsh(t);
  const password = (username: string, text: string) => ({ type: 'password', username, password: text });
  const other = await tryLogins(t, server.sshPort, [password('bob', 'wrong'), password('alice', testPassword)]);
  assert.equal(other.client, undefined);
  const right = await tryLogins(t, server.sshPort, [password('alice', 'wrong'), password('alice', testPassword)]);
  assert.equal(right.refused, 1);
  const { BaseAgent, utils } = installedPackage<PartsOfSsh2>('ssh2');
  const key = utils.parseKey(readFileSync(server.key));
  const signing = (over: (data: Buffer) => Buffer) => ({
    type: 'agent',
    username: 'alice',
    agent: Object.assign(new BaseAgent(), {
      getIdentities: (done: (error: undefined, keys: unknown[]) => void) => done(undefined, [key]),
      sign: (_: unknown, data: Buffer, ...rest: unknown[]) => {
        const done = rest.at(-1) as (error: undefined, signature: Buffer) => void;
        done(undefined, key.sign(over(data)));
      },
    }),
  });
  assert.notEqual((await tryLogins(t, server.sshPort, [signing((data) => data)])).client, undefined);
  const foreign = (data: Buffer) => Buffer.from(data.map((byte, index) => (index === 10 ? byte ^ 1 : byte)));
  assert.equal((await tryLogins(t, server.sshPort, [signing(foreign)])).client, undefined);
});

interface PartsOfSsh2 {
  BaseAgent: new () => object;
  utils: { parseKey(text: Buffer): { sign(data: Buffer): Buffer } };
}
