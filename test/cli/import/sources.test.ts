import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { verifyPassword } from '../../../src/accounts/passwords.ts';
import { importCsv, readCsv } from '../../../src/cli/import/csv.ts';
import { importHtpasswd } from '../../../src/cli/import/import.ts';
import { importSftpgo } from '../../../src/cli/import/sftpgo.ts';
import { ServiceError } from '../../../src/lib/errors.ts';
import { readPlainYaml } from '../../../src/lib/yaml-document.ts';
import { run } from '../../support/child.ts';
import { hasProgram } from '../../support/requires.ts';
import { makeKey, publicKey } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';
import { assertImported, input } from './imported.ts';

const bcrypt = '$2y$05$WSlmTfW1VTxMQby1EoQ8yuSmIo1TGvXPI/MruIUToTRqS03jk69r6';
const file = (path: string, text: string) => ({ path, text, account: undefined });

test('htpasswd: hashes of all its types except DES are imported; DES hashes and invalid lines are reported', async (t) => {
  if (!hasProgram(t, 'htpasswd')) return;
  const kinds = { bcrypt: ['-B', '-C', '5'], md5: ['-m'], sha512: ['-5'], sha256: ['-2'], sha1: ['-s'], des: ['-d'] };
  const made = Object.entries(kinds).map(([name, options]) =>
    execFileSync('htpasswd', ['-nb', ...options, name, 'secret'], { encoding: 'utf8' }).trim(),
  );
  const text = ['# users', ...made, 'bcrypt:again', 'nohash', '../evil:x', '${env:HOME}:x', 'plain:secret'].join('\n');
  const draft = importHtpasswd(input({ files: [file('htpasswd', text)] }));
  const { accounts, notes } = await assertImported(t, draft, 'htpasswd');
  for (const name of ['bcrypt', 'md5', 'sha512', 'sha256', 'sha1'])
    assert.equal(await verifyPassword('secret', String(accounts[name]?.password)), true, name);
  assert.deepEqual([accounts.des?.password, accounts.plain?.password], [undefined, undefined]);
  assert.deepEqual(
    Object.keys(accounts).filter((name) => /[./$]/.test(name)),
    [],
  );
  const told = notes.map(({ line, account, what }) => `${line} ${account ?? ''} ${what}`);
  for (const wanted of [
    /^7 des the password is a hash of DES/,
    /^8 bcrypt the account is listed twice/,
    /^9 {2}this is not an account/,
    /^10 ..\/evil/,
    /^11 \$\{env/,
    /^12 plain/,
  ])
    assert.ok(
      told.some((line) => wanted.test(line)),
      `${wanted}: ${told.join('\n')}`,
    );
});

const dump = {
  version: 16,
  users: [
    {
      username: 'alice',
      status: 1,
      email: 'a@example.com',
      password: '$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy',
      public_keys: [] as string[],
      home_dir: '/srv/data/alice',
      quota_size: 1_000_000,
      permissions: { '/': ['list', 'download'], '/inbox': ['*'], '/inbox/done': ['list', 'download', 'upload'], '/closed': [] },
      groups: [{ name: 'partners', type: 1 }],
      virtual_folders: [
        { name: 'shared', virtual_path: '/shared' },
        { name: 'bucket', virtual_path: '/bucket' },
      ],
      filters: { denied_login_methods: ['publickey', 'TLSCertificate'], max_upload_file_size: 5000 },
      max_sessions: 3,
    },
    {
      username: 'bob',
      status: 1,
      home_dir: '/srv/data/bob',
      permissions: { '/': ['*'] },
      password: bcrypt,
      filters: { allowed_ip: ['192.0.2.0/24'] },
    },
    { username: 'carol', status: 0, home_dir: '/srv/data/carol', permissions: { '/': ['*'] }, password: '$y$j9T$x$y' },
    { username: 'dora', status: 1, home_dir: '/x', permissions: { '/': ['*'] }, password: bcrypt, filesystem: { provider: 1 } },
    {
      username: 'eve',
      status: 1,
      home_dir: '/x/eve',
      permissions: { '/': ['*'] },
      password: bcrypt,
      filters: { denied_login_methods: ['password-over-SSH', 'publickey', 'password', 'keyboard-interactive', 'publickey+password'] },
    },
    {
      username: 'frank',
      status: 1,
      home_dir: '/x/frank',
      permissions: {},
      password: bcrypt,
      expiration_date: Date.parse('2030-01-02'),
      filters: { totp_config: { enabled: true } },
    },
    {
      username: 'gina',
      status: 1,
      home_dir: '/x/gina',
      permissions: { '/': ['list', 'upload', 'overwrite', 'delete_files', 'chmod', 'chtimes', 'create_dirs'] },
      password: bcrypt,
    },
  ],
  groups: [{ name: 'partners', user_settings: { quota_size: 5, permissions: { '/outbox': ['list', 'download'] } }, virtual_folders: [] }],
  folders: [
    { name: 'shared', mapped_path: '/srv/shared' },
    { name: 'bucket', filesystem: { provider: 1 } },
  ],
  admins: [{ username: 'admin' }],
  event_rules: [{ name: 'upload' }],
};

test('sftpgo: users, groups, folders, permissions, quotas and filters are imported; no restriction becomes less strict', async (t) => {
  const folder = temporaryFolder(t);
  const key = publicKey(makeKey(folder, 'gina'));
  const given = structuredClone(dump);
  const last = given.users.at(-1);
  if (last) last.public_keys = [`${key} gina@laptop`];
  const draft = importSftpgo(input({ files: [file('dump.json', JSON.stringify(given, null, 2))] }));
  const { accounts, groups, notes } = await assertImported(t, draft, 'sftpgo');
  const { alice } = accounts;
  const group = groups[String(alice?.group)];
  assert.deepEqual(
    [alice?.group, group?.required_credentials, group?.quota_size, group?.file_write_size],
    ['PARTNERS', 'password', 1_000_000, 5000],
  );
  assert.deepEqual(alice?.virtual_folders, [['/shared', '/srv/shared']]);
  assert.equal(group?.home_folder_path, '/srv/data/${USER}');
  for (const name of ['bob', 'carol', 'dora', 'eve', 'frank']) assert.equal(accounts[name]?.enabled, false, name);
  assert.deepEqual(accounts.gina?.ssh_keys, [`${key} gina@laptop`]);
  for (const wanted of [
    /bob.*addresses/,
    /dora.*S3/,
    /eve.*denied/,
    /frank.*2030-01-02/,
    /frank.*second factor/,
    /alice.*max_sessions/,
    /alice.*bucket/,
    /"admins"/,
    /"event_rules"/,
  ])
    assert.ok(
      notes.some(({ account, what }) => wanted.test(`${account} ${what}`)),
      String(wanted),
    );
  assert.ok(
    notes.every(({ account, line }) => account === undefined || line > 0),
    'each note about an account has a line number',
  );

  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'dump.json'), JSON.stringify(given));
  assert.equal((await run(t, ['import', 'sftpgo', 'dump.json'], { cwd })).code, 0);
  // The expected results follow from SFTPGo's rules: for a file, the rule of the nearest folder above it applies, and for a folder itself,
  // the rule of its parent.
  const expected: Record<string, boolean> = {
    'OPEN-READ /a.txt': true,
    'OPEN-WRITE /a.txt': false,
    'OPEN-WRITE /inbox/a.txt': true,
    'OPENDIR /inbox/': true,
    'RMDIR /inbox/': false,
    'OPEN-WRITE /inbox/done/a.txt': true,
    'REMOVE /inbox/done/a.txt': false,
    'OPEN-READ /inbox/done/a.txt': true,
    'RMDIR /inbox/done/': true,
    'OPEN-READ /closed/a.txt': false,
    'OPENDIR /closed/': false,
    'OPEN-WRITE /Inbox/a.txt': false,
    'OPEN-READ /outbox/a.txt': true,
    'OPEN-WRITE /inboxes/a.txt': false,
  };
  const cases = Object.entries(expected).map(([request, isAllowed]) => ({
    request,
    account: 'alice',
    expect: isAllowed ? 'allowed' : 'refused',
  }));
  const { stdout } = await run(t, ['test', '-', '--config', 'svc.config.yaml'], { cwd, input: JSON.stringify(cases) });
  assert.match(stdout, /14 cases passed, 0 failed/);
});

test('sftpgo: a file that is not a dump is refused, and hostile values give a valid configuration', async (t) => {
  for (const text of ['', '{', '[]', '{"users": 3}', 'null'])
    assert.throws(() => importSftpgo(input({ files: [file('x', text)] })), ServiceError, text);
  const value = fc.oneof(
    fc.constantFrom('${env:HOME}', '../../etc', '/', '*', '%username%', '\u0000', 'a|b', '[x]', '/inbox', '__proto__', 'constructor'),
    fc.string(),
    fc.integer(),
    fc.constant(null),
  );
  const user = fc.record(
    {
      username: fc.oneof(fc.constantFrom('a', '__proto__', '..', 'a/b'), fc.string()),
      status: fc.constant(1),
      home_dir: value,
      password: value,
      public_keys: fc.array(value, { maxLength: 2 }),
      permissions: fc.dictionary(
        fc.oneof(fc.constantFrom('/', '/a', '/a/b|c', '/[x]*', 'e/x/', '!/y'), fc.string()),
        fc.array(value, { maxLength: 3 }),
        { maxKeys: 4 },
      ),
      filters: fc.dictionary(fc.constantFrom('allowed_ip', 'denied_login_methods', 'max_upload_file_size'), value, { maxKeys: 3 }),
      virtual_folders: fc.array(fc.record({ name: value, virtual_path: value, mapped_path: value }), { maxLength: 2 }),
    },
    { requiredKeys: ['username'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(user, { maxLength: 4 }), async (users) => {
      await assertImported(t, importSftpgo(input({ files: [file('dump.json', JSON.stringify({ users }))] })), 'sftpgo', {
        isTested: false,
      });
    }),
    { numRuns: 60, examples: [[[{ username: 'a', permissions: { '/': ['__proto__', 'constructor'] } }]]] },
  );
});

test('csv: columns are found by name; clear passwords become hashes; an unclear value disables the account', async (t) => {
  const key = publicKey(makeKey(temporaryFolder(t), 'k'));
  const text = `\ufeffName;Password;Home;SSH Key;Enabled;Permissions;Colour
alice;"se;""cret";/srv/alice;${key};yes;allow-read allow-list;red\r
bob;${bcrypt};;;maybe;allow-everything;
carol;$1$bad;;;no;;

dave;;;;;;
`;
  const draft = await importCsv(input({ files: [file('users.csv', text)] }));
  const { accounts, groups, notes } = await assertImported(t, draft, 'csv');
  assert.equal(await verifyPassword('se;"cret', String(accounts.alice?.password)), true);
  assert.deepEqual(groups[String(accounts.alice?.group)]?.permissions, [['allow-read', 'allow-list']]);
  assert.deepEqual([accounts.bob?.password, accounts.bob?.enabled, accounts.carol?.enabled], [bcrypt, false, false]);
  assert.deepEqual(groups[String(accounts.bob?.group)]?.permissions, [[]], 'an unknown permission grants nothing');
  assert.ok(notes.some(({ what }) => /column 7 \("colour"\)/.test(what)));
  await assert.rejects(importCsv(input({ files: [file('x.csv', 'a,b\n1,2\n')] })), { code: 'bad-request', message: /one of them "name"/ });
  await assert.rejects(importCsv(input({ files: [file('x.csv', 'name\n"open\n')] })), {
    code: 'bad-request',
    message: /begins in line 2 has a quotation mark/,
  });
  const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'ü') });
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 3 }), { maxLength: 5 }), (rows) => {
      const written = rows.map((row) => row.map((one) => `"${one.replaceAll('"', '""')}"`).join(',')).join('\r\n');
      assert.deepEqual(
        readCsv(written, ',').map(({ fields }) => fields),
        rows.filter((row) => row.some((one) => one.trim() !== '')),
      );
    }),
  );
});

test('svc import writes files with mode 0600, replaces none, and shows no secret', async (t) => {
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'users'), `alice:${bcrypt}\n`);
  const done = await run(t, ['import', 'htpasswd', 'users', '--out', 'my.config.yaml', '--home', './data/${USER}'], { cwd });
  assert.equal(done.code, 0, done.stderr);
  for (const name of ['my.config.yaml', 'my.test.yaml', 'my.import.txt']) assert.equal(statSync(join(cwd, name)).mode & 0o777, 0o600, name);
  assert.equal(`${done.stdout}${done.stderr}${readFileSync(join(cwd, 'my.import.txt'), 'utf8')}`.includes(bcrypt), false);
  const config = readPlainYaml(readFileSync(join(cwd, 'my.config.yaml'), 'utf8')) as {
    accounts: object;
    groups: Record<string, { home_folder_path: string }>;
  };
  assert.equal(config.groups.IMPORTED?.home_folder_path, './data/${USER}');
  assert.equal((await run(t, ['validate', 'my.config.yaml'], { cwd })).code, 0);
  assert.equal((await run(t, ['test', 'my.test.yaml'], { cwd })).code, 0);
  for (const out of ['my.config.yaml', 'my.import.yaml']) {
    writeFileSync(join(cwd, 'my.import.import.txt'), 'mine');
    const again = await run(t, ['import', 'htpasswd', 'users', '--out', out], { cwd });
    assert.equal(again.code, 2);
    assert.match(again.stderr, /exists and is not overwritten; name another file with --out/);
  }
  assert.equal(readFileSync(join(cwd, 'my.import.import.txt'), 'utf8'), 'mine');
  const missing = await run(t, ['import', 'htpasswd', 'nowhere'], { cwd });
  assert.deepEqual([missing.code, missing.stdout], [2, '']);
  assert.match(missing.stderr, /^svc: Cannot read nowhere/);
});

test('svc import --check reports problems of files in the folders of accounts, and writes no configuration', async (t) => {
  const cwd = temporaryFolder(t);
  const home = join(cwd, 'copy/srv/alice');
  mkdirSync(join(home, 'in'), { recursive: true });
  writeFileSync(join(cwd, 'users.csv'), `name,home,password_hash\nalice,/srv/alice,${bcrypt}\nbob,/srv/bob,${bcrypt}\n`);
  for (const name of ['Plan.txt', 'plan.txt', 'Gr\u00f6\u00dfe', 'Gro\u0308\u00dfe', 'fine']) writeFileSync(join(home, 'in', name), '');
  writeFileSync(Buffer.concat([Buffer.from(`${home}/in/`), Buffer.from([0x61, 0xff])]), '');
  symlinkSync('/etc', join(home, 'out'));
  symlinkSync('in/fine', join(home, 'inside'));
  symlinkSync('nowhere', join(home, 'broken'));
  writeFileSync(join(home, 'in/sealed'), '', { mode: 0o400 });
  const { code, stderr, stdout } = await run(t, ['import', 'csv', 'users.csv', '--root', 'copy', '--check', '--json'], { cwd });
  assert.equal(code, 1, stderr);
  const notes = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { file: string; what: string });
  const told = notes.map(({ file: path, what }) => `${path.replace(join(cwd, 'copy'), '')}: ${what}`).sort();
  for (const wanted of [
    /alice\/in\/a.*not UTF-8/,
    /in\/(?:P|p)lan\.txt: its name differs/,
    /Gr.*Unicode normalisation/,
    /alice\/out: the link leaves/,
    /alice\/broken: the target of the link does not exist/,
    /in\/sealed: its mode 400/,
    /bob: the folder does not exist/,
  ])
    assert.ok(
      told.some((line) => wanted.test(line)),
      `${wanted}:\n${told.join('\n')}`,
    );
  assert.equal(
    told.some((line) => line.includes('inside') || line.includes('fine')),
    false,
  );
  assert.throws(() => statSync(join(cwd, 'svc.config.yaml')), { code: 'ENOENT' });
});
