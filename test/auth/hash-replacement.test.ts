import assert from 'node:assert/strict';
import crypto, { pbkdf2Sync } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { AccountsFile } from '../../src/accounts/accounts-file.ts';
import { hashPassword, PasswordVerifier, verifyPassword } from '../../src/accounts/passwords.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { readPlainYaml } from '../../src/lib/yaml-document.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const bcrypt = '$2y$05$WSlmTfW1VTxMQby1EoQ8yuSmIo1TGvXPI/MruIUToTRqS03jk69r6';
const apr1 = '$apr1$h4YOHAT.$gE5XEeqvbon2DhOPwYqGo1';
const list = { headers: { accept: 'application/json' } };

interface WrittenAccounts {
  accounts: Record<string, { password: string; email?: string }>;
  password_overrides?: Record<string, { password: string }>;
}

test('the first login replaces a hash of another system, also one in the configuration; sessions continue', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'accounts.yaml');
  writeFileSync(path, `accounts:\n  carol: {password: "${apr1}", email: c@example.com}\n`, { mode: 0o600 });
  const authentications = { own: { type: 'application', accounts_file_path: path } };
  const server = await startServer(t, { accounts: { bob: { password: bcrypt } }, authentications });
  const written = () => readPlainYaml(readFileSync(path, 'utf8')) as WrittenAccounts;

  const sessions = [await server.login('bob', 'secret'), await server.login('carol', 'secret')];
  assert.equal((await server.get('/home/', { ...list, user: 'bob:Secret' })).status, 401);
  await until(
    'both hashes are replaced',
    () => written().password_overrides?.bob !== undefined && written().accounts.carol?.password.startsWith('$scrypt$') === true,
  );
  assert.equal(written().accounts.carol?.email, 'c@example.com', 'the rest of the account stays');
  assert.equal(await verifyPassword('secret', written().password_overrides?.bob?.password ?? ''), true);
  assert.equal(readFileSync(path, 'utf8').includes(apr1), false);
  assert.equal(statSync(path).mode & 0o777, 0o600);

  for (const session of sessions) {
    const { status } = await server.get('/home/', {
      ...list,
      user: null,
      headers: { ...list.headers, authorization: `session ${session}` },
    });
    assert.equal(status, 200, 'a session that began with the former hash continues');
  }
  assert.equal((await server.get('/home/', { ...list, user: 'carol:secret' })).status, 200);
  assert.equal((await server.get('/home/', { ...list, user: 'carol:Secret' })).status, 401);
  assert.equal(server.log.join('').includes('$scrypt$'), false);
});

test('with replace_password_hashes off, or if the accounts file cannot be written, the login works and the hash stays', async (t) => {
  const folder = temporaryFolder(t);
  const authentications = { own: { type: 'application', accounts_file_path: join(folder, 'kept.yaml'), replace_password_hashes: false } };
  const kept = await startServer(t, { accounts: { bob: { password: bcrypt } }, authentications });
  assert.equal((await kept.get('/home/', { ...list, user: 'bob:secret' })).status, 200);
  assert.equal((await kept.get('/home/', { ...list, user: 'bob:Secret' })).status, 401);
  await kept.stop();
  assert.throws(() => statSync(join(folder, 'kept.yaml')), { code: 'ENOENT' });

  const broken = await startServer(t, {
    accounts: { bob: { password: bcrypt } },
    authentications: { own: { type: 'application', accounts_file_path: join(folder, 'gone', 'accounts.yaml') } },
  });
  assert.equal((await broken.get('/home/', { ...list, user: 'bob:secret' })).status, 200);
  await until('the fault is logged', () => broken.log.some((line) => line.includes('cannot be replaced at present')));
  assert.equal((await broken.get('/home/', { ...list, user: 'bob:secret' })).status, 200);
});

test('a hash is replaced only if the account still has it', async (t) => {
  const path = join(temporaryFolder(t), 'accounts.json');
  writeFileSync(path, JSON.stringify({ accounts: { carol: { password: apr1 }, dave: { password: bcrypt } } }));
  const accounts = new AccountsFile(path, {}, systemClock, silentLog);
  const [one, two] = [await hashPassword('secret'), await hashPassword('secret')];
  const replaced = await accounts.replaceHashes(
    new Map([
      ['carol', { from: apr1, to: one }],
      ['dave', { from: apr1, to: two }],
      ['nobody', { from: apr1, to: two }],
    ]),
  );
  assert.deepEqual(replaced, ['carol']);
  const { accounts: written } = JSON.parse(readFileSync(path, 'utf8')) as WrittenAccounts;
  assert.deepEqual([written.carol?.password, written.dave?.password], [one, bcrypt]);
  const former = crypto.createHash('sha256').update(apr1).digest('base64url');
  assert.equal(accounts.find('carol')?.replacedHashFingerprint, former);
  await accounts.setPassword('carol', two, 0);
  assert.equal(accounts.find('carol')?.replacedHashFingerprint, undefined, 'a new password removes the fingerprint of the former hash');
});

test('the refusal of an unknown name costs as much as verifying a known hash of another system', async (t) => {
  const real = crypto.pbkdf2;
  const work: string[] = [];
  const replace = (pbkdf2: typeof real) => {
    crypto.pbkdf2 = pbkdf2;
    syncBuiltinESMExports();
  };
  replace(((password: Buffer, salt: Buffer, iterations: number, length: number, digest: string, done: () => void) => {
    work.push(`${iterations} ${length} ${digest}`);
    real(password, salt, iterations, length, digest, done);
  }) as typeof real);
  t.after(() => replace(real));
  const hash = `$pbkdf2-sha256$1000$salt$${pbkdf2Sync('secret', 'salt', 1000, 32, 'sha256').toString('base64')}`;
  const verifier = new PasswordVerifier();
  const turn = { source: '192.0.2.1', isKnown: false };
  assert.equal(await verifier.verify('wrong', hash, turn), false);
  assert.equal(await verifier.verifyUnknown('nobody', 'wrong', [hash], turn), false);
  assert.equal(
    await verifier.verifyUnknown('nobody', 'secret', [hash], turn),
    false,
    'an unknown name is refused even if the password fits the hash',
  );
  assert.deepEqual(work, ['1000 32 sha256', '1000 32 sha256', '1000 32 sha256']);
});
