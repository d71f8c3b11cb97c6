import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runProgram } from '../support/program.ts';
import { protocolOf } from '../support/raw-channel.ts';
import { hasPackage } from '../support/requires.ts';
import { testPassword } from '../support/secrets.ts';
import { installedPackage, makeKey, startSsh } from '../support/ssh.ts';

/** Lets paramiko make several login attempts on one connection. paramiko requests the service `ssh-userauth` before each attempt. */
const script = `
import os, paramiko
transport = paramiko.Transport(('127.0.0.1', int(os.environ['PORT'])))
transport.start_client(timeout=20)
for way in os.environ['WAYS'].split():
    kind, value = way.split(':', 1)
    try:
        if kind == 'key':
            left = transport.auth_publickey('alice', paramiko.Ed25519Key.from_private_key_file(value))
        elif kind == 'interactive':
            left = transport.auth_interactive('alice', lambda title, text, prompts: [value] * len(prompts))
        else:
            left = transport.auth_password('alice', value, fallback=False)
        print('in' if transport.is_authenticated() else 'then ' + ','.join(sorted(left)))
    except paramiko.AuthenticationException as error:
        print('refused')
sftp = paramiko.SFTPClient.from_transport(transport)
sftp.mkdir('made')
print(sftp.listdir())
transport.close()
`;

type Config = Parameters<typeof startSsh>[2];

/** Runs `script`. @param ways the attempts, as type and value; `KEY` stands for the key of alice, and `STRANGER` for another key */
async function paramiko(t: TestContext, ways: readonly string[], config: Config = {}) {
  const server = await startSsh(t, {}, config);
  const stranger = makeKey(server.clientFolder, 'stranger');
  // paramiko reads only keys in OpenSSH's format.
  for (const key of [server.key, stranger]) await runProgram('ssh-keygen', ['-q', '-p', '-N', '', '-f', key], { cwd: server.clientFolder });
  const env = {
    PORT: String(server.sshPort),
    WAYS: ways.join(' ').replace('KEY', server.key).replace('STRANGER', stranger),
  };
  const end = await runProgram('/usr/bin/python3', ['-W', 'ignore', '-c', script], { cwd: server.clientFolder, env });
  return { ...end, lines: end.output.trim().split('\n'), server };
}

const hasParamiko = (t: TestContext) => hasPackage(t, 'python3-paramiko', '/usr/lib/python3/dist-packages/paramiko');

test('paramiko logs in after a refused key or a wrong password', async (t) => {
  if (!hasParamiko(t)) return;
  for (const ways of [
    ['key:STRANGER', `password:${testPassword}`],
    ['password:wrong', `password:${testPassword}`],
    ['password:wrong', `interactive:${testPassword}`],
    ['password:wrong', 'key:KEY'],
  ]) {
    const { code, lines, output } = await paramiko(t, ways);
    assert.equal(code, 0, `${ways}: ${output}`);
    assert.deepEqual(lines, ['refused', 'in', "['made']"], ways.join(' '));
  }
});

test('paramiko logs in where both a key and a password are required, in either order', async (t) => {
  if (!hasParamiko(t)) return;
  const both = { group: { required_credentials: 'both' } };
  for (const [ways, then] of [
    [['key:KEY', `password:${testPassword}`], 'then keyboard-interactive,password'],
    [[`password:${testPassword}`, 'key:KEY'], 'then publickey'],
  ] as const) {
    const { code, lines, output } = await paramiko(t, ways, both);
    assert.equal(code, 0, `${ways}: ${output}`);
    assert.deepEqual(lines, [then, 'in', "['made']"]);
  }
});

test('a client that asks for the service again and again, and tries no credential, is disconnected', async (t) => {
  const server = await startSsh(t);
  const { Client } = installedPackage<{ Client: new () => import('node:events').EventEmitter & { connect(o: object): void; end(): void } }>(
    'ssh2',
  );
  const client = new Client();
  t.after(() => client.end());
  let accepted = 0;
  client.on('error', () => {});
  const closed = new Promise((resolve) => client.on('close', resolve));
  // Called each time the server accepts the request for the service. No credential is ever tried.
  const authHandler = () => {
    if (++accepted < 500) protocolOf(client).service('ssh-userauth');
    else client.end();
  };
  client.connect({ host: '127.0.0.1', port: server.sshPort, username: 'alice', authHandler });
  await closed;
  assert.ok(accepted > 90 && accepted < 110, `${accepted} were accepted`);
  const [ended] = (await server.events()).filter(({ id }) => id === '30015');
  assert.equal(ended?.data.details, 'Too many login requests without a credential.');
});
