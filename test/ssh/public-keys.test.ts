import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { keyFault } from '../../src/ssh/authenticate.ts';
import { keyLineFault, publicKeyFault, sshString, toMpint } from '../../src/ssh/public-keys.ts';

const { n = '', e = '' } = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const modulus = toMpint(Buffer.from(n, 'base64url'));
const exponent = toMpint(Buffer.from(e, 'base64url'));

function rsa(...values: Buffer[]): Buffer {
  return Buffer.concat(['ssh-rsa', ...values].map(sshString));
}

function faultOf(blob: Buffer, algorithm = 'ssh-rsa'): string | undefined {
  return keyFault({ algorithm, blob, hash: algorithm === 'ssh-rsa' ? 'sha256' : undefined, signature: undefined, signed: undefined });
}

test('RSA keys in a form that is not canonical, or with invalid values, are refused before any method is asked', () => {
  assert.equal(faultOf(rsa(exponent, modulus)), undefined);
  const zero = Buffer.alloc(1);
  const one = Buffer.from([1]);
  const malformed = {
    'zeros in front of the modulus': rsa(exponent, Buffer.concat([zero, modulus])),
    'zeros in front of the exponent': rsa(Buffer.concat([zero, exponent]), modulus),
    'a negative modulus': rsa(exponent, modulus.subarray(1)),
    'bytes behind the key': Buffer.concat([rsa(exponent, modulus), zero]),
    'a field more': rsa(exponent, modulus, Buffer.alloc(0)),
    'a field less': rsa(exponent),
    'an exponent of 1': rsa(one, modulus),
    'no exponent': rsa(Buffer.alloc(0), modulus),
    'an even exponent': rsa(Buffer.from([4]), modulus),
    'an even modulus': rsa(exponent, Buffer.concat([modulus.subarray(0, -1), zero])),
    'a key of another type': Buffer.concat([sshString('ssh-dss'), sshString(exponent), sshString(modulus)]),
    'a modulus above the maximum length': rsa(exponent, Buffer.concat([one, Buffer.alloc(4096, 1)])),
    nothing: Buffer.alloc(0),
    'a length beyond the end': Buffer.from([0, 0, 0, 7, 1]),
  };
  const accepted = Object.entries(malformed).filter(([, blob]) => faultOf(blob) === undefined);
  assert.deepEqual(
    accepted.map(([name]) => name),
    [],
  );
});

test('Ed25519 and ECDSA keys have the lengths of their types', () => {
  const ed25519 = (bytes: number, ...more: Buffer[]) =>
    Buffer.concat([sshString('ssh-ed25519'), sshString(Buffer.alloc(bytes, 1)), ...more.map(sshString)]);
  assert.equal(publicKeyFault(ed25519(32)), undefined);
  for (const blob of [ed25519(31), ed25519(33), ed25519(32, Buffer.alloc(1))]) assert.match(publicKeyFault(blob) ?? '', /cannot be read/);
  const ecdsa = (type: string, curve: string, bytes: number) =>
    Buffer.concat([sshString(type), sshString(curve), sshString(Buffer.concat([Buffer.from([4]), Buffer.alloc(bytes - 1, 1)]))]);
  assert.equal(publicKeyFault(ecdsa('ecdsa-sha2-nistp256', 'nistp256', 65)), undefined);
  assert.match(publicKeyFault(ecdsa('ecdsa-sha2-nistp256', 'nistp384', 97)) ?? '', /cannot be read/);
  assert.match(publicKeyFault(ecdsa('ecdsa-sha2-nistp521', 'nistp521', 97)) ?? '', /cannot be read/);
  assert.match(publicKeyFault(sshString('sk-ssh-ed25519@openssh.com')) ?? '', /type sk-ssh-ed25519@openssh\.com are refused/);
});

test('a line of ssh_keys with which nobody can log in is detected', () => {
  assert.equal(keyLineFault(`ssh-rsa ${rsa(exponent, modulus).toString('base64')} alice`), undefined);
  assert.match(keyLineFault(`ssh-rsa ${rsa(Buffer.from([1]), modulus).toString('base64')}`) ?? '', /refuse/);
  assert.match(keyLineFault('ssh-dss AAAAB3NzaC1kc3M= old') ?? '', /type ssh-dss/);
  const ed25519 = Buffer.concat([sshString('ssh-ed25519'), sshString(Buffer.alloc(32, 1))]).toString('base64');
  assert.match(keyLineFault(`ssh-rsa ${ed25519}`) ?? '', /the text after "ssh-rsa" is not a key/);
});
