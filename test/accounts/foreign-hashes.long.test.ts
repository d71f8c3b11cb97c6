import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { pbkdf2Sync } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseForeignHash } from '../../src/accounts/foreign-hashes.ts';
import { parsePasswordHash, parseScryptHash, verifyPassword } from '../../src/accounts/passwords.ts';
import { isServiceError, ServiceError } from '../../src/lib/errors.ts';
import { hasProgram } from '../support/requires.ts';

/** Hashes of the password `secret`, made by other programs. */
const made: Record<string, string> = {
  'bcrypt by htpasswd': '$2y$05$WSlmTfW1VTxMQby1EoQ8yuSmIo1TGvXPI/MruIUToTRqS03jk69r6',
  'bcrypt by crypt(3)': '$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a',
  'MD5-crypt by htpasswd': '$apr1$h4YOHAT.$gE5XEeqvbon2DhOPwYqGo1',
  'SHA-crypt 256 by htpasswd': '$5$K.ZletK2gFg.d3RY$Kujf3akdelDhV0nj0qCH.Z0GIJVREbaMZ5.gyY7cwn0',
  'SHA-crypt 512 by htpasswd': '$6$hKzN2bf.NXE6SoGD$TP3ysBYVi2BHNYhPAtSQ3oflliX1CYTaq3I5ZEYQwmAZuK0Mxdu8atOfRbP6LyhC2gl6IRj3sZm1hwmHDWoEJ/',
  'SHA by htpasswd': '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=',
  'SSHA by slappasswd': '{SSHA}v0uurPN4Fd7r81M7DWEhAq2WdNEF92BB',
  'argon2id by argon2': '$argon2id$v=19$m=16384,t=2,p=1$c2FsdHNhbHRzYWx0$lp3hg62ibBi8BBOLXAHKgAP6P0k+4L6n6Obc+f4bbG4',
  'argon2i by argon2': '$argon2i$v=19$m=8192,t=3,p=2$c2FsdHNhbHRzYWx0$ZJ3M013fytRCTlEYjTZnzu2lo3anjw6sIIYY3RtPBPk',
};

test('hashes made by other programs accept the right password and reject wrong ones', async () => {
  for (const [name, hash] of Object.entries(made)) {
    assert.equal(await verifyPassword('secret', hash), true, name);
    assert.equal(await verifyPassword('Secret', hash), false, name);
    assert.equal(await verifyPassword('', hash), false, name);
  }
  // This hash is from SFTPGo's documentation. The hashes below have the formats of Django, SFTPGo and OpenLDAP.
  const ofSftpgo = '$pbkdf2-sha256$150000$E86a9YMX3zC7$R5J62hsSq+pYw00hLLPKBbcGXmq7fj5+/M0IFoYtZbo=';
  assert.equal(await verifyPassword('password', ofSftpgo), true);
  assert.equal(await verifyPassword('passwore', ofSftpgo), false);
  const key = (salt: string, digest: string) => pbkdf2Sync('secret', salt, 1000, 32, digest).toString('base64');
  for (const hash of [
    `pbkdf2_sha256$1000$seasalt$${key('seasalt', 'sha256')}`,
    `$pbkdf2-sha512$1000$seasalt$${key('seasalt', 'sha512')}`,
    `$pbkdf2-sha1$1000$seasalt$${key('seasalt', 'sha1')}`,
    `$pbkdf2-b64salt-sha256$1000$${Buffer.from('sea salt').toString('base64')}$${key('sea salt', 'sha256')}`,
    '{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0',
  ])
    assert.equal(await verifyPassword(hash.startsWith('{') ? 'secret!' : 'secret', hash), !hash.startsWith('{'), hash);
});

test('crypt(3) hashes made by openssl verify passwords of all lengths and scripts', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const passwords = [...[17, 32, 64, 150].map((length) => 'a'.repeat(length)), 'Größe 日本語'];
  for (const kind of ['-1', '-apr1', '-5', '-6']) {
    const hashes = execFileSync('openssl', ['passwd', kind, '-salt', 'saltsalt', '-stdin'], {
      input: `${passwords.join('\n')}\n`,
      encoding: 'utf8',
    });
    for (const [index, hash] of hashes.trim().split('\n').entries())
      assert.equal(await verifyPassword(passwords[index] ?? '', hash), true, `${kind} ${passwords[index]?.length}`);
  }
});

test('a password in decomposed form matches a hash of the decomposed form and a hash of the composed form', async () => {
  const hash = (text: string) => `$pbkdf2-sha256$1000$salt$${pbkdf2Sync(text, 'salt', 1000, 32, 'sha256').toString('base64')}`;
  assert.equal(await verifyPassword('pa\u0308ss', hash('pa\u0308ss')), true);
  assert.equal(await verifyPassword('pa\u0308ss', hash('p\u00e4ss')), true);
  assert.equal(await verifyPassword('pass', hash('p\u00e4ss')), false);
});

test('bcrypt uses only 72 bytes of a password; a short password with 100 bytes added does not match', async () => {
  const hash = made['bcrypt by htpasswd'] ?? '';
  assert.equal(await verifyPassword(`secret${'x'.repeat(100)}`, hash), false);
  assert.equal(parseForeignHash(hash)?.countedBytes, 72);
});

test('hashes that cost too much, are malformed or cannot be verified are refused with the reason; weak hashes are marked', () => {
  const sha = made['SHA-crypt 512 by htpasswd'] ?? '';
  const argon = made['argon2id by argon2'] ?? '';
  const bcrypt = made['bcrypt by htpasswd'] ?? '';
  const refusals: Record<string, RegExp> = {
    [bcrypt.replace('$05$', '$15$')]: /hash of bcrypt that svc does not verify: it has 32768 rounds; more than 16384 take over two seconds/,
    [bcrypt.replace('$05$', '$31$')]: /over two seconds/,
    [bcrypt.replace('$2y$', '$2x$')]: /variant of bcrypt, which svc cannot verify; set a new password/,
    [sha.replace('$6$', '$6$rounds=999999999$')]: /hash of SHA-crypt that svc does not verify: it has 999999999 rounds/,
    [argon.replace('m=16384', 'm=4194304')]: /KiB of memory; more than/,
    [argon.replace('t=2', 't=9999')]: /memory times passes/,
    [argon.replace('p=1', 'p=0')]: /does not allow/,
    [argon.replace('argon2id', 'argon2d')]: /cannot verify/,
    '$pbkdf2-sha256$999999999$salt$R5J62hsSq+pYw00hLLPKBbcGXmq7fj5+/M0IFoYtZbo=': /iterations; more than/,
    '$y$j9T$abcdefghijklmnop$3dL1LkYnZM.OVXuVdnnaKVDlLYT92dRwOzDZ5XiVCe.': /yescrypt, which svc cannot verify/,
    'iF.hau13k1SFY': /hash of DES/,
    '{MD5}Xr4ilOzQ4PCOq3aQ0qbuaQ==': /LDAP/,
    '$scrypt$ln=18,r=8,p=5$AAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA': /cost out of bounds/,
  };
  for (const [hash, message] of Object.entries(refusals))
    assert.throws(() => parsePasswordHash(hash), { code: 'bad-request', message }, hash);
  assert.throws(() => parseScryptHash(bcrypt), ServiceError, 'for administrators, svc accepts only its own hashes');
  assert.deepEqual(
    [bcrypt, sha, made['SHA by htpasswd'] ?? '', argon].map((hash) => parseForeignHash(hash)?.weakness !== undefined),
    [true, false, true, false],
  );
});

test('any text in place of a hash is either accepted or refused with an error that does not repeat the text', () => {
  const pieces = fc.constantFrom(
    '$',
    '$2y$',
    '$6$',
    '$argon2id$',
    'm=',
    ',',
    'rounds=',
    '{SSHA}',
    '05',
    'a',
    '/',
    '=',
    '\n',
    '\u0000',
    'ü',
  );
  const text = fc.oneof(
    fc.array(pieces, { maxLength: 200 }).map((parts) => parts.join('')),
    fc.tuple(fc.constantFrom(...Object.values(made)), fc.nat(), fc.string()).map(([hash, at, more]) => {
      const place = at % hash.length;
      return hash.slice(0, place) + more + hash.slice(place + 1);
    }),
  );
  fc.assert(
    fc.property(text, (hash) => {
      try {
        const parsed = parsePasswordHash(hash);
        return 'format' in parsed || parsed.ln > 0;
      } catch (error) {
        // A short text can occur in any message by chance.
        return isServiceError(error, 'bad-request') && (hash.length < 12 || !error.message.includes(hash.slice(1)));
      }
    }),
  );
});

test('a slow hash does not block other work', async () => {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  await verifyPassword('wrong', (made['bcrypt by crypt(3)'] ?? '').replace('$05$', '$12$'));
  isDone = true;
  assert.ok(turns > 100, `${turns} turns of the event loop`);
});
