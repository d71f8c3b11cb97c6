import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { jsonOutputs } from '../src/cli/config/schema.ts';
import { run } from './support/child.ts';
import { temporaryFolder } from './support/temp.ts';

test('the expectations example: in 28 days, one order is late, one is malformed and one is missing', async (t) => {
  const cwd = temporaryFolder(t);
  const example = join(process.env.SVC_ROOT ?? process.cwd(), 'examples/expectations');
  copyFileSync(join(example, 'svc.config.yaml'), join(cwd, 'svc.config.yaml'));
  execFileSync(process.execPath, [join(example, 'make-journal.mjs'), 'data'], { cwd });
  assert.throws(() => execFileSync(process.execPath, [join(example, 'make-journal.mjs'), 'data'], { cwd, stdio: 'pipe' }), /EEXIST/);
  const checked = await run(t, ['expectations', 'check', '--since', '28d', '--json'], { cwd });
  assert.equal(checked.code, 3, checked.stderr);
  const { occurrences } = jsonOutputs.expectations.parse(JSON.parse(checked.stdout));
  const bad = occurrences.filter(({ state }) => state !== 'met' && state !== 'waiting');
  const weekdays = bad.map(({ expectation, due, state }) => [expectation, new Date(due).getUTCDay(), state]);
  assert.deepEqual(
    weekdays.sort((one, other) => Number(one[1]) - Number(other[1])),
    [
      ['orders', 2, 'late'],
      ['orders', 3, 'malformed'],
      ['orders', 4, 'missing'],
    ],
  );
  assert.ok(occurrences.length > 70);
  const history = await run(t, ['expectations', 'history', 'orders'], { cwd });
  assert.match(history.stderr, /nine of ten by -0:0\d:00/);
});
