import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { CredentialKind } from '../../src/accounts/credential-kinds.ts';
import { decide } from '../../src/config/cases/decision.ts';
import { parseConfig } from '../../src/config/reading/load.ts';
import { parseSource } from '../../src/config/reading/source.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { sftpOperations } from '../../src/ssh/sftp/request-operations.ts';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { type RawSftp, testFiles, testSession } from '../support/sftp-session.ts';
import { makeKey, publicKey, startSsh, tryLogins } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

const { read, write, create } = openFlags;

const opened = async (opening: Promise<Buffer>): Promise<number> => opening.then(() => 0).catch((error) => error.status);

/** For each operation name of `svc explain`, sends the corresponding request and returns its status. */
const asked: Record<string, (client: RawSftp) => Promise<number>> = {
  'OPEN-READ': (client) => opened(client.open('/file', read)),
  'OPEN-WRITE': (client) => opened(client.open('/new', write | create)),
  OPENDIR: (client) => opened(client.opendir('/')),
  STAT: async (client) => {
    const found = await client.stat('/file');
    return typeof found === 'number' ? found : 0;
  },
  SETSTAT: (client) => client.status(packetTypes.setstat, (fields) => fields.text('/file').attributes({ mode: 0o600 })),
  MKDIR: (client) => client.status(packetTypes.mkdir, (fields) => fields.text('/made').attributes({})),
  RMDIR: (client) => client.onPath(packetTypes.rmdir, '/empty'),
  REMOVE: (client) => client.onPath(packetTypes.remove, '/file'),
  RENAME: (client) => client.rename('/file', '/other'),
  'POSIX-RENAME': (client) =>
    client.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('/file').text('/other')),
};
const paths: Record<string, string> = { 'OPEN-WRITE': '/new', OPENDIR: '/', MKDIR: '/made', RMDIR: '/empty' };

test('an SFTP session gives the result that svc explain predicts, with each permission alone', async (t) => {
  assert.deepEqual(Object.keys(asked), Object.keys(sftpOperations));
  const rights = ['read', 'write', 'list', 'traverse', 'rename', 'delete-file', 'delete-folder', 'create-folder', 'set-attributes'];
  for (const right of rights) {
    const general = [`allow-${right}`];
    const files = testFiles(t, { permissions: { general, rules: [] } });
    const { client } = testSession(t, {}, {}, files);
    const text = JSON.stringify({
      groups: { DEFAULT_GROUP: { home_folder_path: files.home, permissions: [general] } },
      accounts: { alice: {} },
    });
    const config = parseConfig(parseSource('/nowhere/svc.config.json', text), {});
    for (const [method, ask] of Object.entries(asked)) {
      rmSync(join(files.home), { recursive: true });
      mkdirSync(join(files.home, 'empty'), { recursive: true });
      writeFileSync(join(files.home, 'file'), 'x');
      const path = paths[method] ?? '/file';
      const { allowed, status } = decide(config, { user: 'alice', method, path, destination: '/other' });
      const answer = await ask(client);
      assert.equal(answer === statusCodes.permissionDenied, !allowed, `${method} with ${right}: ${answer}, explained: ${status}`);
      if (!allowed) assert.equal(status, answer);
    }
  }
});

test('svc explain knows fixed folders, reserved names and paths that lead upward', () => {
  const text = JSON.stringify({
    groups: { DEFAULT_GROUP: { home_folder_path: '/home', virtual_folders: [['/a/b', '/srv']] } },
    accounts: { alice: {} },
  });
  const config = parseConfig(parseSource('/nowhere/svc.config.json', text), {});
  const status = (method: string, path: string) => decide(config, { user: 'alice', method, path, destination: '/x' }).status;
  assert.equal(status('RMDIR', '/a/b'), statusCodes.permissionDenied);
  assert.equal(status('MKDIR', '/a'), statusCodes.failure);
  assert.equal(status('OPEN-WRITE', '/.svc-0123456789abcdef01234567.part'), statusCodes.permissionDenied);
  assert.equal(decide(config, { user: 'alice', method: 'open-read', path: '/../etc/a b' }).real_path, '/home/etc/a b');
});

/**
 * Presents credentials to a service one by one. @returns whether the login succeeded, and the methods that were offered before each
 * credential and after the last one
 */
async function present(t: TestContext, port: number, username: string, kinds: readonly CredentialKind[], key: Buffer) {
  const attempts = [
    { type: 'none', username },
    ...kinds.map((kind) => (kind === 'password' ? { type: kind, username, password: testPassword } : { type: 'publickey', username, key })),
  ];
  const offered: string[][] = [];
  let asked = 0;
  const authHandler = (left: string[] | null) => {
    if (left) offered.push([...left]);
    return attempts[asked++] ?? false;
  };
  const { client } = await tryLogins(t, port, attempts, { authHandler });
  client?.end();
  return { isIn: client !== undefined, offered };
}

test('an SSH login has the course that svc explain predicts: success, refusals, and the next offers', async (t) => {
  const folder = temporaryFolder(t);
  const [path, shortPath] = [makeKey(folder, 'key'), join(folder, 'short')];
  writeFileSync(shortPath, generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs1', format: 'pem' }));
  const ssh_keys = [publicKey(path)];
  const password = await cheapHash(testPassword);
  const group = (required_credentials: string) => ({ home_folder_path: folder, required_credentials });
  const groups = { ANY: group('any'), KEYS: group('ssh-key'), BOTH: group('both'), CLOSED: { ...group('any'), enabled: false } };
  const accounts = {
    any: { group: 'ANY', ssh_keys, password },
    keys: { group: 'KEYS', ssh_keys, password },
    both: { group: 'BOTH', ssh_keys, password },
    keyless: { group: 'BOTH', password },
    short: { group: 'KEYS', ssh_keys: [publicKey(shortPath)], password },
    wordless: { group: 'ANY', ssh_keys },
    gone: { group: 'ANY', ssh_keys, password, enabled: false },
    closed: { group: 'CLOSED', ssh_keys, password },
  };
  const server = await startSsh(t, {}, { groups, accounts });
  const text = JSON.stringify({ groups, accounts, services: { sftp: { type: 'ssh' } } });
  const config = parseConfig(parseSource('/nowhere/svc.config.json', text), {});
  const orders: CredentialKind[][] = [['ssh-key'], ['password'], ['ssh-key', 'password'], ['password', 'ssh-key']];
  const seen = new Set<string>();
  for (const user of [...Object.keys(accounts), 'nobody']) {
    for (const credentials of orders) {
      const { allowed, reason, login, steps } = decide(config, { user, method: 'LOGIN', path: '', credentials });
      const real = await present(t, server.sshPort, user, credentials, readFileSync(user === 'short' ? shortPath : path));
      const what = `${user} with ${credentials.join(', ')}: ${reason}`;
      assert.equal(real.isIn, allowed, what);
      const refused = login?.credentials.filter(({ outcome }) => outcome !== 'granted') ?? [];
      if (login) assert.deepEqual(real.offered, [login.offered, ...refused.map(({ offered }) => offered)], what);
      seen.add(login?.credentials.map(({ outcome }) => outcome).join(' ') ?? `refused by ${steps.at(-1)?.step}`);
    }
  }
  const courses = ['granted', 'refused', 'refused granted', 'refused refused', 'refused partial', 'partial', 'partial granted'];
  assert.deepEqual([...seen].toSorted(), [...courses, 'partial refused', 'refused by account', 'refused by group'].toSorted());
});

test('svc explain follows a login through the methods of the service; endpoints decide, or are assumed to pass the login on', async () => {
  const configOf = (sections: object) =>
    parseConfig(
      parseSource('/nowhere/svc.config.json', JSON.stringify({ groups: { DEFAULT_GROUP: { home_folder_path: '/home' } }, ...sections })),
      {},
    );
  const authentications = {
    id: { type: 'http', url: 'https://id.example.com/' },
    local: { type: 'application' },
    public: { type: 'anonymous', group: 'DEFAULT_GROUP' },
  };
  const accounts = { alice: { password: await cheapHash(testPassword) } };
  const services = {
    first: { type: 'ssh', authentications: ['id'] },
    all: { type: 'ssh', port: 2223 },
    none: { type: 'ssh', port: 2224, authentications: ['public'] },
  };
  const config = configOf({ authentications, accounts, services });
  const login = (user: string, service?: string) => {
    const { allowed, reason, steps } = decide(config, { user, method: 'login', path: '', service });
    return [allowed, reason, steps.find(({ step }) => step === 'method')?.text];
  };
  assert.deepEqual(login('carol'), [true, null, 'id decides']);
  assert.deepEqual(login('alice', 'all'), [true, null, 'local decides; assumed: id, which is asked first, passes the login on (401)']);
  assert.equal(login('alice', 'none')[0], false);
  assert.equal(login('anonymous', 'all')[2], 'id decides', 'nobody logs in over SSH without a name');
  assert.equal(login('alice', 'web')[1], 'there is no enabled ssh service "web"');
  const without = decide(configOf({ accounts }), { user: 'alice', method: 'LOGIN', path: '' });
  assert.deepEqual([without.allowed, without.status, without.reason], [false, null, 'the configuration has no enabled ssh service']);
});
