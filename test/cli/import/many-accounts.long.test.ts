import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../support/child.ts';
import { temporaryFolder } from '../../support/temp.ts';

test('60,000 imported accounts are written to a separate file, which svc validate, test and explain read', async (t) => {
  const cwd = temporaryFolder(t);
  const hash = '$2y$05$WSlmTfW1VTxMQby1EoQ8yuSmIo1TGvXPI/MruIUToTRqS03jk69r6';
  writeFileSync(join(cwd, 'many'), Array.from({ length: 60_000 }, (_, index) => `user${index}:${hash}`).join('\n'));
  const many = await run(t, ['import', 'htpasswd', 'many', '--out', 'many.yaml', '--home', './files'], { cwd });
  assert.equal(many.code, 0, many.stderr);
  assert.match(
    many.stdout,
    /^many\.accounts\.json: 60,?000 accounts\nmany\.yaml: the configuration, which refers to the file of accounts\n/,
  );
  assert.equal(statSync(join(cwd, 'many.accounts.json')).mode & 0o777, 0o600);
  assert.equal((await run(t, ['validate', 'many.yaml'], { cwd })).code, 0);
  const tested = await run(t, ['test', 'many.test.yaml'], { cwd });
  assert.equal(tested.code, 0, tested.stdout);
  const explained = await run(t, ['explain', '--config', 'many.yaml', '--user', 'user59999', 'GET', '/home/'], { cwd });
  assert.match(explained.stdout, /account "user59999" of .*many\.accounts\.json/, explained.stderr);
});
