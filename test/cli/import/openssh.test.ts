import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { InputFile } from '../../../src/cli/import/draft.ts';
import { importOpenssh } from '../../../src/cli/import/openssh.ts';
import { lookUp, matchesPattern, readSshdConfig, splitWords } from '../../../src/cli/import/sshd-config.ts';
import { runProgram } from '../../support/program.ts';
import { hasPackage, hasProgram } from '../../support/requires.ts';
import { makeKey, publicKey } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { assertImported, input } from './imported.ts';

const sha = '$6$hKzN2bf.NXE6SoGD$TP3ysBYVi2BHNYhPAtSQ3oflliX1CYTaq3I5ZEYQwmAZuK0Mxdu8atOfRbP6LyhC2gl6IRj3sZm1hwmHDWoEJ/';
const passwd = [
  'root:x:0:0::/root:/bin/sh',
  'alice:x:1001:1001::/home/alice:/usr/sbin/nologin',
  'bob:x:1002:1002::/home/bob:/bin/bash',
].join('\n');
const shadow = `alice:${sha}:19000:0:99999:7:::\nbob:${sha}:19000:0:99999:7:::\n`;
const group = 'sftponly:x:2000:alice\nstaff:x:2001:bob\n';

function inputs(config: string, more: InputFile[] = []): InputFile[] {
  const file = (path: string, text: string) => ({ path, text, account: undefined });
  return [file('sshd_config', config), file('passwd', passwd), file('shadow', shadow), file('group', group), ...more];
}

function imported(t: TestContext, config: string, more: InputFile[] = [], root = temporaryFolder(t)) {
  return importOpenssh(input({ files: inputs(config, more), root }));
}

const sftp = 'Subsystem sftp internal-sftp\n';

test('openssh: a configuration with chroot, forced commands, groups, methods and keys gives accounts that pass their cases', async (t) => {
  const root = temporaryFolder(t);
  const [one, two, three] = ['one', 'two', 'three'].map((name) => publicKey(makeKey(root, name))) as [string, string, string];
  mkdirSync(join(root, 'home/bob/.ssh'), { recursive: true });
  writeFileSync(
    join(root, 'home/bob/.ssh/authorized_keys'),
    `restrict,pty ${one} bob@laptop\nfrom="10.0.0.0/8" ${two}\ncommand="rsync --server" ${three}\nssh-dss AAAA\nnonsense\n`,
  );
  const config = `${sftp}Port 22\nMaxAuthTries 3\nCiphers aes256-ctr\nPrintMotd no\nUsePAM yes
Match Group sftponly
  ChrootDirectory /srv/%u
  ForceCommand internal-sftp -u 027 -P remove,rmdir
  AuthenticationMethods publickey,password
Match User bob
  ForceCommand internal-sftp -R
  PasswordAuthentication no
  KbdInteractiveAuthentication no\n`;
  const draft = imported(t, config, [{ path: 'keys', text: `${three}\n`, account: 'alice' }], root);
  assert.deepEqual(draft.services, { sftp: { type: 'ssh', max_auth_tries: 3, ssh_cipher_list: ['aes256-ctr'], address: '::', port: 22 } });
  assert.equal(draft.server.umask, '027');
  const { alice, bob } = Object.fromEntries(draft.accounts);
  assert.deepEqual([alice?.home, alice?.requires, alice?.password, alice?.sshKeys], ['/srv/alice', 'both', sha, [three]]);
  assert.ok(!alice?.permissions[0]?.some((right) => /full|delete/.test(right)), String(alice?.permissions));
  assert.deepEqual(
    [bob?.home, bob?.requires, bob?.sshKeys, bob?.permissions],
    ['/home/bob', 'ssh-key', [`${one} bob@laptop`], [['allow-read', 'allow-list']]],
  );
  assert.equal(draft.accounts.has('root'), false);
  const told = draft.notes.map(({ line, account, what }) => `${line} ${account ?? ''} ${what}`);
  for (const wanted of [
    /^2 bob the key has the option "from"/,
    /^3 bob the key has the option "command"/,
    /^4 bob/,
    /^5 bob this is not a public key/,
    /UsePAM/,
  ])
    assert.ok(
      told.some((line) => wanted.test(line)),
      `${wanted}: ${told.join('\n')}`,
    );
  const { accounts } = await assertImported(t, draft, 'openssh');
  const { groups } = await assertImported(t, imported(t, sftp), 'openssh', { isTested: false });
  for (const group of Object.values(groups)) assert.deepEqual([group.tokens, group.links], [{ enabled: false }, { enabled: false }]);
  assert.equal(accounts.bob?.password, undefined, 'a password that sshd refuses is not imported');
});

test('openssh: no restriction of sshd becomes less strict', (t) => {
  const disabled = (config: string, name = 'alice') => {
    const draft = imported(t, config);
    return { isDisabled: draft.accounts.get(name)?.enabled === false, requires: draft.accounts.get(name)?.requires };
  };
  for (const config of [
    '',
    `${sftp}DenyUsers alice\n`,
    `${sftp}DenyUsers bob alice@10.*\n`,
    `${sftp}AllowUsers bob\n`,
    `${sftp}AllowUsers alice@192.0.2.1\n`,
    `${sftp}AllowGroups staff\n`,
    `${sftp}DenyGroups sftp*\n`,
    `${sftp}Match Address 10.0.0.0/8\nDenyUsers alice\n`,
    `${sftp}Match Address 10.0.0.0/8\nAllowUsers bob\n`,
    `${sftp}Match Group sftponly\nForceCommand /bin/date\n`,
    `${sftp}Match Address 192.0.2.*\nForceCommand /bin/date\n`,
    `${sftp}Match Address 192.0.2.*\nChrootDirectory /elsewhere\n`,
    'Subsystem sftp /usr/local/bin/wrapper\n',
    `${sftp}PubkeyAuthentication no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n`,
    `${sftp}AuthenticationMethods publickey,publickey\n`,
    `${sftp}AuthenticationMethods gssapi-with-mic\n`,
  ])
    assert.equal(disabled(config).isDisabled, true, config);
  const requires = (config: string) => disabled(sftp + config).requires;
  assert.equal(
    requires('PasswordAuthentication no\nMatch Address 10.0.0.0/8\nPasswordAuthentication yes\n'),
    'any',
    'keyboard-interactive still asks for a password',
  );
  assert.equal(
    requires('KbdInteractiveAuthentication no\nPasswordAuthentication no\nMatch Address 10.0.0.0/8\nPasswordAuthentication yes\n'),
    'ssh-key',
  );
  assert.equal(requires('KbdInteractiveAuthentication no\nMatch LocalPort 2222\nPasswordAuthentication no\n'), 'ssh-key');
  assert.equal(requires('AuthenticationMethods publickey,password publickey\n'), 'ssh-key');
  assert.equal(requires('AuthenticationMethods publickey\nMatch Address 10.*\nAuthenticationMethods publickey,password\n'), 'both');
  const expired = importOpenssh(
    input({
      files: inputs(sftp).map((file) =>
        file.path === 'shadow' ? { ...file, text: `alice:${sha}:19000:0:99999:7::19001:\nbob:${sha}:0:0:99999:7:::\n` } : file,
      ),
    }),
  );
  assert.equal(expired.accounts.get('alice')?.enabled, false);
  assert.equal(expired.accounts.get('bob')?.password, undefined);
});

test('openssh: revoked keys, and key types that sshd refuses, are not imported', (t) => {
  const root = temporaryFolder(t);
  const [good, revoked] = ['good', 'revoked'].map((name) => publicKey(makeKey(root, name))) as [string, string];
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
  assert.ok(rsa.n);
  writeFileSync(join(root, 'revoked.list'), `# lost\n${revoked}\n`);
  writeFileSync(join(root, 'binary.list'), 'SSHKRL\n\0');
  const keysOf = (config: string) =>
    imported(t, sftp + config, [{ path: 'k', text: `${good}\n${revoked}\n`, account: 'alice' }], root).accounts.get('alice')?.sshKeys;
  assert.deepEqual(keysOf(''), [good, revoked]);
  assert.deepEqual(keysOf('RevokedKeys /revoked.list\n'), [good]);
  assert.deepEqual(keysOf('RevokedKeys /binary.list\n'), []);
  assert.deepEqual(keysOf('RevokedKeys /nowhere\n'), []);
  assert.deepEqual(keysOf('PubkeyAcceptedAlgorithms rsa-sha2-*\n'), []);
  assert.deepEqual(keysOf('PubkeyAcceptedAlgorithms -ssh-ed25519\n'), []);
  assert.deepEqual(keysOf('PubkeyAcceptedAlgorithms +ssh-rsa\n'), [good, revoked]);
});

const keywords = [
  'passwordauthentication',
  'pubkeyauthentication',
  'chrootdirectory',
  'forcecommand',
  'authenticationmethods',
  'maxauthtries',
];

test('openssh: the settings of each account agree with sshd -T', async (t) => {
  if (!hasProgram(t, 'sshd') || !hasProgram(t, 'ssh-keygen')) return;
  const folder = temporaryFolder(t);
  const hostKey = makeKey(folder, 'host_key');
  // sshd refuses to run without this folder. Its service creates it at the start, and containers often have no services.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true });
  const configs = [
    'PasswordAuthentication no\nMatch User alice\n PasswordAuthentication yes\n ForceCommand internal-sftp -u 027 # for all\nMatch all\n ForceCommand "internal-sftp" -R\n',
    'Match User al*,!alan\n ChrootDirectory /srv/%u\nMatch User alice\n ChrootDirectory /never\n',
    'Match Group root User alice\n ForceCommand /bin/false\nMatch user=bob\n AuthenticationMethods publickey,password\nAuthenticationMethods publickey\n',
    `Include ${folder}/part-*.conf\nPubkeyAuthentication no\nMatch User bob\n Include ${folder}/part-a.conf\n PubkeyAuthentication yes\n`,
    'PermitRootLogin=no\nMaxAuthTries 4\nMaxAuthTries 5\nMatch User "alice"\n MaxAuthTries 2\n',
  ];
  writeFileSync(join(folder, 'part-a.conf'), 'Match User alice\n ForceCommand /bin/date\n');
  writeFileSync(join(folder, 'part-b.conf'), 'ChrootDirectory /b\n');
  for (const config of configs) {
    writeFileSync(join(folder, 'sshd_config'), config);
    const blocks = readSshdConfig({ path: 'sshd_config', text: config, account: undefined }, '/', []);
    for (const name of ['alice', 'bob', 'alan']) {
      const { output } = await runProgram(
        '/usr/sbin/sshd',
        ['-T', '-f', 'sshd_config', '-h', hostKey, '-C', `user=${name},host=h,addr=192.0.2.9`],
        { cwd: folder },
      );
      for (const keyword of keywords) {
        const told = new RegExp(`^${keyword} (.*)$`, 'm').exec(output)?.[1];
        const { usual } = lookUp(blocks, keyword, { name, groups: [] });
        if (usual) assert.equal(usual.args.join(' '), told, `${config}\n${name} ${keyword}\n${output.slice(0, 200)}`);
        else assert.ok(['yes', 'no', 'none', 'any', '6'].includes(told ?? ''), `${config}\n${name} ${keyword}: ${told}`);
      }
    }
  }
});

/** Returns the configurations that a script of OpenSSH's tests writes, with its variables replaced. */
function regressConfigs(script: string): string[] {
  const values: Record<string, string> = {
    OBJ: '/obj',
    PORT: '4242',
    USER: 'alice',
    SFTPSERVER: '/usr/lib/openssh/sftp-server',
    PIDFILE: '/obj/pid',
  };
  const filled = (text: string) => text.replace(/\$\{?(\w+)\}?/g, (_, name: string) => values[name] ?? 'x');
  const documents = [
    ...script.matchAll(
      /sshd_(?:config|proxy)\S*\s*<<\s*-?["']?(\w+)["']?\n([\s\S]*?)\n\1$|<<\s*["']?(\w+)["']? *>+ *\S*sshd_(?:config|proxy)\S*\n([\s\S]*?)\n\3$/gm,
    ),
  ];
  const lines = [...script.matchAll(/^\s*echo "([^"]+)" *>>? *\S*sshd_(?:config|proxy)/gm)].map(([, line = '']) => line);
  return [...documents.map(([, , body, , other]) => body ?? other ?? ''), lines.join('\n')]
    .filter((text) => text.trim() !== '')
    .map(filled);
}

test('openssh: the configurations in OpenSSH’s own tests become valid configurations of svc', async (t) => {
  const folder = '/usr/lib/openssh/regress';
  if (!hasPackage(t, 'openssh-tests', folder)) return;
  let count = 0;
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.sh'))) {
    for (const config of regressConfigs(readFileSync(join(folder, name), 'utf8'))) {
      count++;
      await assertImported(t, imported(t, config), `openssh (${name})`, { isTested: count <= 3 });
    }
  }
  assert.ok(count >= 15, `${count} configurations`);
});

test('openssh: an import of any file gives a valid configuration', async (t) => {
  const word = fc.constantFrom(
    'Match',
    'User',
    'all',
    'Include',
    'ChrootDirectory',
    'ForceCommand',
    'internal-sftp',
    '%u',
    '%',
    '"',
    '\\',
    '#',
    '=',
    '-P',
    '-u',
    '/etc/*',
    '${env:X}',
    'alice',
    'ListenAddress',
    '[::1]:22',
    '::',
    'Port',
    '99999',
    'AuthenticationMethods',
    'publickey,',
    '\u0000',
    'ü',
    '\n',
    '\n',
    ' ',
  );
  const text = fc.array(word, { maxLength: 60 }).map((words) => words.join(' '));
  await fc.assert(
    fc.asyncProperty(text, async (config) => {
      await assertImported(t, imported(t, config), 'openssh', { isTested: false });
    }),
    { numRuns: 60 },
  );
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (line) => splitWords(line)?.every((part) => typeof part === 'string') ?? true));
  const hostile = `${'*a'.repeat(2000)}b`;
  assert.equal(matchesPattern('a'.repeat(20_000), hostile), false);
});
