import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../support/child.ts';
import { assertNoSecret, assertSecretsStayHidden, configure, secrets } from '../support/marked-secrets.ts';
import { temporaryFolder } from '../support/temp.ts';

test(
  'secrets are shown nowhere: not in logs, events, journals, records of deliveries, replies or errors',
  {
    timeout: 60_000,
  },
  (t) => assertSecretsStayHidden(t, { withHeap: false }),
);

test('svc validate does not show the value of a variable or a file', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'secret'), `${secrets.environment}\n`);
  writeFileSync(join(folder, 'svc.config.yaml'), 'services:\n  web: {type: http, port: "${env:MARKED}"}\n');
  appendFileSync(join(folder, 'svc.config.yaml'), 'accounts:\n  alice: {password: "${file:secret}"}\n  bob: {email: ["${env:MARKED}"]}\n');
  for (const args of [['validate'], ['validate', '--json'], ['serve'], ['--debug', 'validate']]) {
    const ended = await run(t, args, { cwd: folder, env: { MARKED: secrets.environment } });
    assert.notEqual(ended.code, 0);
    assertNoSecret(ended.stdout + ended.stderr, `svc ${args.join(' ')}`);
  }
});

test('the line that is shown with a finding has no secret, and its caret is at the right place', async (t) => {
  const folder = temporaryFolder(t);
  await configure(folder, 'http://127.0.0.1:1', 'http://user:Marker-Hook-7@127.0.0.1:1');
  const json = readFileSync(join(folder, 'svc.config.json'), 'utf8');
  for (const name of ['timeout', 'fail_after_errors', 'signing_secret', 'username', 'url', 'headers', 'extra_data', 'password', 'target']) {
    writeFileSync(join(folder, 'svc.config.json'), json.replaceAll(`"${name}":`, `"${name}x":`));
    const ended = await run(t, ['validate'], { cwd: folder, env: { MARKED: secrets.environment } });
    assert.equal(ended.code, 1, name);
    assertNoSecret(ended.stderr, `with ${name}x`);
  }
  const lines = ['accounts:', '  alice:', '    passwordd: Marker-Password-1', ''];
  writeFileSync(join(folder, 'svc.config.yaml'), lines.join('\n'));
  const yaml = await run(t, ['validate', 'svc.config.yaml'], { cwd: folder });
  assert.match(yaml.stderr, /\n {8}passwordd: \*{17}\n {8}\^\n/);
});
