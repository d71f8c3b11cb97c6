import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readHostKey } from '../../../src/ssh/host-keys.ts';
import { run } from '../../support/child.ts';
import { hasProgram } from '../../support/requires.ts';
import { makeKey, makeOpensshKey } from '../../support/ssh.ts';
import { temporaryFolder } from '../../support/temp.ts';

test('svc ssh host-key import copies keys to the data folder, replaces none, and says which keys belong to host_key_paths', async (t) => {
  if (!hasProgram(t, 'ssh-keygen')) return;
  const cwd = temporaryFolder(t);
  const [one, two] = ['one', 'two'].map((name) => makeKey(cwd, name)) as [string, string];
  const rsa = await makeOpensshKey(cwd, 'rsa', '-t', 'rsa', '-b', '2048');
  const ecdsa = await makeOpensshKey(cwd, 'ecdsa', '-t', 'ecdsa');
  const add = (...args: string[]) => run(t, ['ssh', 'host-key', 'import', ...args, '--data-folder', 'data'], { cwd });
  const done = await add(one, rsa, ecdsa);
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stderr, /including .*ssh_host_ecdsa_key.* to host_key_paths of the service/);
  for (const [name, source] of Object.entries({ ssh_host_ed25519_key: one, ssh_host_rsa_key: rsa, ssh_host_ecdsa_key: ecdsa })) {
    const path = join(cwd, 'data', name);
    assert.equal(readHostKey(path).fingerprint, readHostKey(source).fingerprint);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.ok(done.stdout.includes(readHostKey(source).fingerprint));
  }
  assert.match((await add(one, '--json')).stdout, /"imported":false/);
  const before = readFileSync(join(cwd, 'data/ssh_host_ed25519_key'));
  const other = await add(two);
  assert.deepEqual([other.code, other.stdout], [2, '']);
  assert.match(other.stderr, /not replaced: move it away first/);
  assert.deepEqual(readFileSync(join(cwd, 'data/ssh_host_ed25519_key')), before);
  const locked = join(cwd, 'locked');
  writeFileSync(locked, '-----BEGIN ENCRYPTED PRIVATE KEY-----\n');
  assert.equal((await add(locked)).code, 3);
});
