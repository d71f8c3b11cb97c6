import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { importProftpd } from '../../../src/cli/import/proftpd.ts';
import { importVsftpd } from '../../../src/cli/import/vsftpd.ts';
import { run } from '../../support/child.ts';
import { makeKey, publicKey } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { assertImported, input } from './imported.ts';

const file = (path: string, text: string) => ({ path, text, account: undefined });
const sha = '$6$hKzN2bf.NXE6SoGD$TP3ysBYVi2BHNYhPAtSQ3oflliX1CYTaq3I5ZEYQwmAZuK0Mxdu8atOfRbP6LyhC2gl6IRj3sZm1hwmHDWoEJ/';
const people = ['alice', 'bob', 'carol'];
const passwd = people.map((name, index) => `${name}:${sha}:${1001 + index}:1001::/home/${name}:/bin/bash\n`).join('');

test('vsftpd: settings for all or single users, and lists are imported; no restriction becomes less strict', async (t) => {
  const root = temporaryFolder(t);
  mkdirSync(join(root, 'etc/vsftpd/users'), { recursive: true });
  writeFileSync(join(root, 'etc/vsftpd/users/bob'), 'local_root=/srv/bob\nwrite_enable=NO\n');
  writeFileSync(join(root, 'etc/vsftpd/list'), 'carol\n');
  const config = `# comment
anonymous_enable=NO
local_enable=YES
write_enable=YES
cmds_denied=DELE,RMD
deny_file={*.exe,.secret}
local_umask=027
local_root=/srv/ftp/$USER
user_sub_token=$USER
userlist_enable=YES
userlist_file=/etc/vsftpd/list
user_config_dir=/etc/vsftpd/users
pasv_min_port=40000
tcp_wrappers=YES
max_clients=50
broken line
`;
  const vsftpd = (text: string) => importVsftpd(input({ files: [file('vsftpd.conf', text), file('passwd', passwd)], root }));
  const draft = vsftpd(config);
  const { accounts } = await assertImported(t, draft, 'vsftpd');
  assert.deepEqual([draft.server.umask, draft.services.sftp?.maximum_concurrent_connections], ['027', 50]);
  assert.deepEqual(
    [draft.accounts.get('alice')?.home, draft.accounts.get('bob')?.home, accounts.carol?.enabled],
    ['/srv/ftp/alice', '/srv/bob', false],
  );
  assert.deepEqual(draft.accounts.get('bob')?.permissions[0], ['allow-read', 'allow-list']);
  const alice = draft.accounts.get('alice')?.permissions ?? [];
  assert.ok(alice[0]?.includes('allow-write') && !alice[0].some((right) => /delete|full/.test(right)));
  assert.deepEqual(
    alice.slice(1).map(([expression]) => expression),
    ['*/*.exe', '*/*.exe/*', '*/.secret', '*/.secret/*'],
  );
  const told = draft.notes.map(({ line, what }) => `${line} ${what}`);
  for (const wanted of [/^14 tcp_wrappers/, /^16 this is not a setting/, /does not support FTP/])
    assert.ok(
      told.some((line) => wanted.test(line)),
      told.join('\n'),
    );
  const isOff = (text: string, name = 'alice') => vsftpd(text).accounts.get(name)?.enabled === false;
  assert.equal(isOff('local_enable=NO\n'), true);
  assert.equal(isOff(''), true, 'accounts are disabled by default');
  assert.equal(isOff('local_enable=YES\nuserlist_enable=YES\nuserlist_file=/nowhere\n'), true);
  assert.equal(isOff('local_enable=YES\nuserlist_enable=YES\nuserlist_deny=NO\nuserlist_file=/etc/vsftpd/list\n'), true);
  assert.equal(isOff('local_enable=YES\ndeny_file=[ab]*\n'), true);
  const guests = vsftpd('guest_enable=YES\nuser_config_dir=/etc/vsftpd/users\nwrite_enable=YES\nanon_upload_enable=YES\n');
  assert.deepEqual([...guests.accounts.keys()], ['bob'], 'guests are named like their files in user_config_dir');
});

test('proftpd: sections, limits and keys of RFC 4716 are imported; no restriction becomes less strict', async (t) => {
  const root = temporaryFolder(t);
  mkdirSync(join(root, 'etc/keys'), { recursive: true });
  const key = publicKey(makeKey(root, 'k'));
  const blob = key.split(' ')[1] ?? '';
  writeFileSync(
    join(root, 'etc/keys/alice'),
    `---- BEGIN SSH2 PUBLIC KEY ----\nComment: "a \\\nb"\n${blob.slice(0, 40)}\n${blob.slice(40)}\n---- END SSH2 PUBLIC KEY ----\n`,
  );
  writeFileSync(join(root, 'etc/ftpusers'), 'carol\n');
  const config = `ServerName "x"
<Global>
  Umask 022 027
  DefaultRoot ~ !staff
  DefaultRoot /srv staff
  AllowOverwrite on
  MaxLoginAttempts 3
  SQLAuthenticate on
</Global>
<IfModule mod_sftp.c>
  SFTPEngine on
  SFTPHostKey /etc/ssh/ssh_host_ed25519_key
  SFTPAuthorizedUserKeys file:/etc/keys/%u
</IfModule>
PathDenyFilter "\\.ftpaccess$"
<Directory ~/outbox>
  <Limit WRITE>
    DenyAll
  </Limit>
</Directory>
<Directory /home/alice/drop>
  <Limit READ DIRS>
    AllowUser bob
    DenyAll
  </Limit>
</Directory>
`;
  const proftpd = (text: string) =>
    importProftpd(input({ files: [file('proftpd.conf', text), file('ftpd.passwd', passwd), file('group', 'staff:x:50:bob\n')], root }));
  const draft = proftpd(config);
  const { accounts } = await assertImported(t, draft, 'proftpd');
  assert.deepEqual([draft.server.umask, draft.services.sftp?.max_auth_tries], ['022', 3]);
  assert.deepEqual([accounts.alice?.ssh_keys, accounts.carol?.enabled, draft.accounts.get('bob')?.home], [[key], false, '/srv']);
  assert.ok(draft.notes.some(({ line, what }) => line === 8 && /SQLAuthenticate/.test(what)));
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'proftpd.conf'), config);
  writeFileSync(join(cwd, 'passwd'), passwd);
  assert.equal((await run(t, ['import', 'proftpd', 'proftpd.conf', 'passwd', '--root', root], { cwd })).code, 0);
  const expected: Record<string, boolean> = {
    'OPEN-WRITE /a.txt': true,
    'OPEN-READ /.ftpaccess': false,
    'OPEN-WRITE /outbox/a.txt': false,
    'OPEN-READ /outbox/a.txt': true,
    'RMDIR /outbox/': false,
    'OPEN-WRITE /drop/a.txt': true,
    'OPEN-READ /drop/a.txt': false,
    'OPENDIR /drop/': false,
  };
  const cases = Object.entries(expected).map(([request, isAllowed]) => ({
    request,
    account: 'alice',
    expect: isAllowed ? 'allowed' : 'refused',
  }));
  const { stdout } = await run(t, ['test', '-', '--config', 'svc.config.yaml'], { cwd, input: JSON.stringify(cases) });
  assert.match(stdout, /8 cases passed, 0 failed/);

  const isOff = (text: string, name = 'alice') => proftpd(text).accounts.get(name)?.enabled === false;
  assert.equal(isOff('<Limit LOGIN>\nDenyAll\n</Limit>\n'), true);
  assert.equal(isOff('<Limit LOGIN>\nAllowUser alice\nDenyAll\n</Limit>\n'), false);
  assert.equal(isOff('<Limit LOGIN>\nAllowUser alice\nDenyAll\n</Limit>\n', 'bob'), true);
  assert.equal(isOff('<Limit LOGIN>\nOrder allow,deny\nAllow from 10.0.0.0/8\nDenyAll\n</Limit>\n'), true);
  assert.equal(isOff('<IfUser alice>\nUmask 0\n</IfUser>\n'), true);
  assert.equal(isOff('<Directory /home/*/x>\n<Limit ALL>\nDenyAll\n</Limit>\n</Directory>\n'), true);
  assert.equal(proftpd('').accounts.get('alice')?.permissions[0]?.includes('allow-write'), false, 'AllowOverwrite is off by default');
});

test('vsftpd and proftpd: an import of any file gives a valid configuration', async (t) => {
  const words = fc.constantFrom(
    'local_enable=YES',
    'write_enable=YES',
    'deny_file={a,b|c}',
    'local_root=${env:X}',
    'local_umask=9',
    'ftpd_banner=\u0000',
    '<Limit',
    'ALL>',
    '<Directory',
    '~/a>',
    '</Limit>',
    '</Directory>',
    'DenyAll',
    'AllowUser',
    'PathDenyFilter',
    '"(((("',
    '(a*)*$',
    'DefaultRoot',
    '~',
    '/',
    'Umask',
    '777',
    '\\',
    '"',
    '\n',
    '\n',
    '\n',
    ' ',
  );
  const text = fc.array(words, { maxLength: 40 }).map((parts) => parts.join(' ').replace(/ ?\n ?/g, '\n'));
  await fc.assert(
    fc.asyncProperty(text, async (config) => {
      for (const [from, reader] of [
        ['vsftpd', importVsftpd],
        ['proftpd', importProftpd],
      ] as const)
        await assertImported(t, reader(input({ files: [file('x.conf', config), file('passwd', passwd)] })), from, { isTested: false });
    }),
    { numRuns: 60, examples: [['PathDenyFilter local_root=${env:X}']] },
  );
});
