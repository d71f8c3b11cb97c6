import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { hasSecretForm, makeSecret, maskSecrets, readSecret } from '../../src/lib/secrets.ts';

test('a secret has a prefix, 256 random bits and a checksum, so that scanners can recognise it', () => {
  const seen = new Set<string>();
  for (const kind of ['token', 'link'] as const) {
    for (let made = 0; made < 50; made++) {
      const { secret, hash } = makeSecret(kind);
      assert.match(secret, kind === 'token' ? /^svc_t_[0-9A-Za-z]{49}$/ : /^svc_l_[0-9A-Za-z]{49}$/);
      assert.deepEqual(readSecret(secret), { kind, hash });
      assert.equal(hash, createHash('sha256').update(secret).digest('base64url'));
      const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
      const value = [...secret.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
      assert.equal(value, crc32(secret.slice(0, -6)));
      seen.add(secret);
    }
  }
  assert.equal(seen.size, 100);
});

test('a typo in a secret is recognised by its checksum, and other texts are not secrets', () => {
  const { secret } = makeSecret('token');
  const other = secret[10] === 'a' ? 'b' : 'a';
  assert.equal(readSecret(`${secret.slice(0, 10)}${other}${secret.slice(11)}`), 'mistyped');
  assert.equal(readSecret(secret.replace('svc_t_', 'svc_l_')), 'mistyped', 'the checksum also covers the kind');
  for (const text of ['', 'svc_t_', secret.slice(1), `${secret}a`, ` ${secret}`, `${secret}\n`, secret.replace('svc_t', 'svc_x')]) {
    assert.equal(readSecret(text), undefined, text);
    assert.equal(hasSecretForm(text), false);
  }
});

test('secrets are masked anywhere in a text', () => {
  const [token, link] = [makeSecret('token').secret, makeSecret('link').secret];
  assert.equal(maskSecrets(`a ${token} b https://h/__svc__/s/${link}/x`), 'a svc_t_*** b https://h/__svc__/s/svc_l_***/x');
  assert.equal(maskSecrets('svc_t_short'), 'svc_t_short');
});
