import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AccountsFile } from '../../src/accounts/accounts-file.ts';
import { hashPassword, PasswordVerifier, parsePasswordHash, verifyPassword } from '../../src/accounts/passwords.ts';
import { expandUserInExpression } from '../../src/accounts/permissions.ts';
import { expandUserInPath, isUserName, userForPath } from '../../src/accounts/user-names.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { openDataFolder } from '../../src/lib/disk/data-folder.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { compileExpression } from '../../src/lib/expression.ts';
import { createLog, silentLog } from '../../src/lib/log.ts';
import { program } from '../support/child.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { untilWithinMinute } from '../support/node-process.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a password hash is salted and fits the password in any normal form; malformed or too costly hashes are refused', async () => {
  const [one, two] = [await hashPassword('pässword'), await hashPassword('pässword')];
  assert.notEqual(one, two);
  assert.equal(await verifyPassword('pa\u0308ssword', one), true, 'the same password in another normal form is accepted');
  assert.equal(await verifyPassword('password', one), false);
  for (const bad of [
    '',
    'secret',
    '$scrypt$ln=14,r=8,p=5$AAAA$BBBB',
    one.replace('ln=14', 'ln=30'),
    one.replace('r=8', 'r=999'),
    one.replace('p=5', 'p=0'),
    `${one} `,
  ]) {
    assert.throws(() => parsePasswordHash(bad), ServiceError, bad);
  }
});

test('the verifier remembers right passwords but not wrong ones; an unknown name takes as long as a known one', async () => {
  const verifier = new PasswordVerifier();
  const turn = { source: '192.0.2.1', isKnown: false };
  const hash = await hashPassword('secret');
  const time = async (action: () => Promise<boolean>) => {
    const startedMs = performance.now();
    const result = await action();
    return { result, ms: performance.now() - startedMs };
  };
  const first = await time(() => verifier.verify('secret', hash, turn));
  const again = await time(() => verifier.verify('secret', hash, turn));
  const wrong = await time(() => verifier.verify('wrong', hash, turn));
  const wrongAgain = await time(() => verifier.verify('wrong', hash, turn));
  const unknown = await time(() => verifier.verifyUnknown('bob', 'secret', [hash], turn));
  assert.deepEqual([first.result, again.result, wrong.result, wrongAgain.result, unknown.result], [true, true, false, false, false]);
  assert.ok(
    again.ms < wrong.ms / 5 && wrongAgain.ms > wrong.ms / 4 && unknown.ms > wrong.ms / 4,
    JSON.stringify([again, wrong, wrongAgain, unknown]),
  );
  assert.equal(await verifier.verify('secret', await cheapHash('other'), turn), false, 'the password is remembered only for its own hash');
});

test('identical concurrent verifications share one computation; a verification that has waited for a minute fails', async () => {
  const clock = new ManualClock();
  const verifier = new PasswordVerifier(clock);
  const hash = await hashPassword('secret', { ln: 13, r: 8, p: 2 });
  const turn = { source: '192.0.2.1', isKnown: false };
  const other = { source: '192.0.2.2', isKnown: false };
  // The first two guesses take both turns, so the third guess and the identical verifications wait.
  const guesses = ['a', 'b', 'c'].map((guess) => verifier.verify(guess, hash, other));
  const cpuBefore = process.cpuUsage();
  const same = Array.from({ length: 30 }, () => verifier.verify('secret', hash, turn));
  assert.deepEqual(new Set(await Promise.all(same)), new Set([true]));
  assert.deepEqual(await Promise.all(guesses), [false, false, false]);
  const { user, system } = process.cpuUsage(cpuBefore);
  const fourMs = (user + system) / 1000;
  const before = process.cpuUsage();
  await verifier.verify('d', hash, turn);
  const one = process.cpuUsage(before);
  assert.ok(fourMs < 12 * ((one.user + one.system) / 1000), `33 verifications took ${fourMs} ms of CPU`);
  const late = ['e', 'f', 'g'].map((guess) => verifier.verify(guess, hash, other));
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(61_000);
  const outcomes = await Promise.allSettled(late);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected'],
  );
  assert.equal(await verifier.verify('secret', hash, other), true);
});

test('harmful account names are refused; special characters of other names have no effect in paths and expressions', () => {
  for (const name of ['alice', 'a@b.c', 'ü', 'a b', 'x'.repeat(150), '...']) assert.equal(isUserName(name), true, name);
  for (const name of ['', '.', '..', 'a/b', 'a\\b', 'a\0b', 'a\nb', 'x'.repeat(151), '\ud800'])
    assert.equal(isUserName(name), false, JSON.stringify(name));
  assert.equal(userForPath('a:b*c?d"e<f>g|h'), 'a.b.c.d.e.f.g.h');
  assert.equal(expandUserInPath('/h/${USER}/x', 'a$&b'), '/h/a$&b/x');
  for (const name of [':', '?*', '::']) assert.throws(() => expandUserInPath('/h/${USER}', name), ServiceError, name);
  assert.equal(compileExpression(expandUserInExpression('/${USER}/*', '[a-z]')).matches('/b/x'), false);
  assert.equal(compileExpression(expandUserInExpression('/${USER}/*', '[a-z]')).matches('/[a-z]/x'), true);
  assert.equal(compileExpression(expandUserInExpression('e/^\\/${USER}\\//', 'a.+')).matches('/abc/'), false);
});

test('the accounts file is read again when it changes; an invalid change is ignored, and concurrent password changes are all kept', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'accounts.yaml');
  const clock = new ManualClock();
  const hash = await cheapHash('x');
  writeFileSync(path, `accounts:\n  carol: {password: "${hash}"}\n`);
  const lines: string[] = [];
  const file = new AccountsFile(
    path,
    { alice: { enabled: true, password: hash } },
    clock,
    createLog({ level: 'info', format: 'json', clock, write: (line) => lines.push(line) }),
  );
  assert.deepEqual([file.find('alice')?.enabled, file.find('carol')?.enabled, file.find('dave')], [true, true, undefined]);
  writeFileSync(path, `dave: {password: "${hash}", enabled: no}\n`);
  clock.advance(1001);
  assert.deepEqual([file.find('carol'), file.find('dave')?.enabled], [undefined, false], '`accounts:` may be left out');
  writeFileSync(path, 'dave: {pasword: x}\n');
  utimesSync(path, 1, 1);
  clock.advance(1001);
  assert.equal(file.find('dave')?.enabled, false, 'the last valid content stays');
  assert.match(lines.join(''), /not valid/);
  assert.throws(() => new AccountsFile(path, {}, clock, silentLog), /accounts file .*accounts\.yaml/);

  const names = Array.from({ length: 12 }, (_, index) => `user${index}`);
  writeFileSync(path, `accounts:\n${names.map((name) => `  ${name}: {password: "${hash}"}`).join('\n')}\n`);
  const writers = [1, 2, 3].map(() => new AccountsFile(path, { alice: { enabled: true, password: hash } }, systemClock, silentLog));
  const fresh = await cheapHash('fresh');
  await Promise.all(names.map((name, index) => writers[index % 3]?.setPassword(name, fresh, 0)));
  await writers[0]?.setPassword('alice', fresh, 0);
  const after = new AccountsFile(path, { alice: { enabled: true, password: hash } }, systemClock, silentLog);
  for (const name of [...names, 'alice']) assert.equal(after.find(name)?.passwordHash, fresh, name);
  assert.deepEqual(readdirSync(folder), ['accounts.yaml'], 'no lock and no temporary file is left');
  const changed = new AccountsFile(
    path,
    { alice: { enabled: true, password: await cheapHash('changed in the configuration') } },
    systemClock,
    silentLog,
  );
  assert.notEqual(
    changed.find('alice')?.passwordHash,
    fresh,
    'after a change in the configuration, the hash in the accounts file is no longer used',
  );
  await assert.rejects(after.setPassword('nobody', fresh, 0), ServiceError);
});

test('a password change in a shared accounts file is confirmed only after every process uses the new password', async (t) => {
  const path = join(temporaryFolder(t), 'accounts.yaml');
  const clock = new ManualClock();
  const [hash, fresh] = [await cheapHash('x'), await cheapHash('fresh')];
  writeFileSync(path, `accounts:\n  carol: {password: "${hash}"}\n`);
  const [writer, reader] = [true, true].map((isShared) => new AccountsFile(path, {}, clock, silentLog, { isShared }));
  assert.equal(reader?.find('carol')?.passwordHash, hash);
  let isAnswered = false;
  const changed = writer?.setPassword('carol', fresh, 0).then(() => {
    isAnswered = true;
  });
  await until('the new hash is written', () => writer?.find('carol')?.passwordHash === fresh);
  clock.advance(999);
  await new Promise(setImmediate);
  assert.deepEqual([isAnswered, reader?.find('carol')?.passwordHash], [false, hash]);
  await until('the change is confirmed', () => {
    clock.advance(1);
    return isAnswered;
  });
  await changed;
  assert.equal(reader?.find('carol')?.passwordHash, fresh);
});

test('a password change alters nothing else in the accounts file', async (t) => {
  const path = join(temporaryFolder(t), 'accounts.yaml');
  const hash = await cheapHash('x');
  const permissions = '[[allow-read], ["*.csv", allow-write]]';
  writeFileSync(
    path,
    `accounts:
  alice: &alice {password: "${hash}", permissions: ${permissions}, home_folder_structure: [[inbox]], virtual_folders: [[/v, /srv/v]]}
  bob: *alice
  carol: {enabled: no, permissions: [], ssh_keys: null}
`,
  );
  const configured = { dave: { enabled: true, password: hash } };
  const file = new AccountsFile(path, configured, systemClock, silentLog);
  const before = ['alice', 'bob', 'carol'].map((name) => file.find(name));
  const fresh = await cheapHash('fresh');
  await file.setPassword('bob', fresh, 2);
  await file.setPassword('dave', fresh, 2);
  for (const read of [file, new AccountsFile(path, configured, systemClock, silentLog)]) {
    const [alice, bob, carol] = ['alice', 'bob', 'carol'].map((name) => read.find(name));
    assert.deepEqual([alice, { ...bob, passwordHash: hash }, carol], before);
    assert.deepEqual([bob?.passwordHash, read.find('dave')?.passwordHash], [fresh, fresh]);
    assert.deepEqual([read.formerHashes('bob'), read.formerHashes('dave')], [[hash], [hash]]);
  }
});

test('an accounts file in JSON means the same as in YAML, and is still JSON after a change', async (t) => {
  const path = join(temporaryFolder(t), 'accounts.yaml');
  const hash = await cheapHash('x');
  const names = ['10', 'zoë', 'a "quoted" \\\\ name', '__proto__', 'b'];
  const accounts = names.map((name) => `${JSON.stringify(name)} : {"password":"${hash}", "enabled": false}`).join(',\n\t');
  const read = () => new AccountsFile(path, {}, systemClock, silentLog);
  const found = (file: AccountsFile) => names.map((name) => file.find(name));
  // A comment at the end makes the text YAML.
  for (const text of [`{"accounts": {${accounts}}}`, `{${accounts}}`]) {
    writeFileSync(path, `${text} # all`);
    const asYaml = found(read());
    assert.equal(asYaml.filter((account) => account?.enabled === false).length, 4, 'all but `__proto__`, a name that no account may have');
    writeFileSync(path, text);
    assert.deepEqual(found(read()), asYaml);
  }
  const fresh = await cheapHash('fresh');
  await read().setPassword('zoë', fresh, 1);
  const written = JSON.parse(readFileSync(path, 'utf8'));
  assert.deepEqual([written.accounts.zoë, written.password_history], [{ password: fresh, enabled: false }, { zoë: [hash] }]);
  assert.equal(read().find('zoë')?.passwordHash, fresh);

  for (const [text, fault] of [
    [`{"accounts": {"bob": {"password": "${hash}"}, "bob": {"password": "${fresh}"}}}`, /Map keys must be unique at line 1/],
    ['{"accounts": {"bob": ', /at line 1/],
    ['{"accounts": {"bob": {"pasword": "x"}}}', /accounts\.bob/],
  ] as const) {
    writeFileSync(path, text);
    assert.throws(read, fault);
  }
});

test('only one process at a time can hold the data folder', async (t) => {
  const folder = temporaryFolder(t);
  const first = openDataFolder(folder);
  assert.throws(
    () => openDataFolder(folder),
    (error) => error instanceof ServiceError && error.details.pid === process.pid,
  );
  const uuid = first.serverUuid();
  first.release();
  writeFileSync(join(folder, 'svc.pid'), JSON.stringify({ pid: 4_190_000, started: '1' }));
  const second = openDataFolder(folder);
  assert.equal(second.serverUuid(), uuid, 'the server UUID is kept');
  second.release();
  writeFileSync(join(folder, 'svc.pid'), JSON.stringify({ pid: process.pid, started: '1' }));
  openDataFolder(folder).release();
  writeFileSync(join(folder, 'svc.pid'), 'garbage');
  openDataFolder(folder).release();

  writeFileSync(
    join(folder, 'svc.config.yaml'),
    'server: {data_folder_path: ./d}\ngroups: {DEFAULT_GROUP: {home_folder_path: ./h}}\nservices: {web: {type: http, port: 0}}\n',
  );
  const children = Array.from({ length: 2 }, () => spawn(program[0], [...program.slice(1), 'serve'], { cwd: folder }));
  t.after(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  const codes = () => children.map(({ exitCode }) => exitCode);
  const listening = Promise.race(children.map((child) => once(child.stdout, 'data')));
  await untilWithinMinute('one of two processes that start at the same time has ended', () => codes().some((code) => code !== null));
  await listening;
  assert.deepEqual(codes().toSorted(), [3, null], 'the other process continues to run');
  assert.match(readFileSync(join(folder, 'd/svc.pid'), 'utf8'), /"pid":\d+/);
});

test('a log line cannot be forged, and does not show the values of `password` and `Authorization`', () => {
  for (const format of ['json', 'pretty'] as const) {
    let text = '';
    const log = createLog({
      level: 'info',
      format,
      clock: new ManualClock(),
      write: (line) => {
        text += line;
      },
    });
    log.info('name\nFORGED line', {
      path: 'a\r\nb\u001b[2J',
      password: 'hunter2',
      Authorization: 'hunter2',
      reason: new Error('why', { cause: new Error('deep') }),
    });
    log.debug('not shown');
    assert.equal(text.split('\n').length, 2, format);
    assert.equal(/hunter2|\u001b\[2J/.test(text), false);
    assert.match(text, /why \(deep\)/);
  }
});
