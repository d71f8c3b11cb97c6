import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smoke } from './support/smoke.ts';

const parts = ['growth', 'memory', 'resumable', 'pages', 'journal'];

test('npm run bench -- --smoke: the parts about growth, memory, resumable uploads, pages and the journal run', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/run.mjs', ...parts, '--smoke']);
  assert.equal(code, 0, faults);
  for (const workload of ['1 GiB in one piece', '1 GiB in pieces of 8 MiB'])
    assert.match(output, new RegExp(`^\\| ${workload}, MB/s (\\| \\*\\*[\\d.,]+\\*\\* [^|]+){5}\\| [^|]+\\|$`, 'm'), workload);
  for (const curve of ['entries', 'size', 'connections', 'events', 'accounts', 'rules'])
    assert.match(output, new RegExp(`^\\| ${curve} \\| [^|]+ \\| [^|]+ \\| exponent \\| of its work \\|$`, 'm'));
});

test('the guard of continuous integration compares CPU with the baseline, also without history', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/guard.mjs', '--smoke']);
  assert.equal(code, 0, faults);
  assert.match(output, /^Without a build of [0-9a-f]{40}, .*: compared by the limit of Node\.js/m);
  assert.equal([...output.matchAll(/^\| (?:GET|PUT|PROPFIND|HTML)[^|]* \| \d+\.\d\d \| 1\.35 \|$/gm)].length, 4, output);
});

test('the profile says where the time of a request goes, and of a start', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/profile.mjs', 'get', 'start', '--seconds', '1', '--functions', '3']);
  assert.equal(code, 0, faults);
  assert.match(output, /^\| of the busy time of the main thread \| GET of 1 KiB \| start \|/m);
  const shares = [...output.matchAll(/^\| (?!main thread)[^|]+ \| (\d+) % \| (\d+) % \|$/gm)];
  for (const column of [1, 2]) {
    const sum = shares.reduce((total, row) => total + Number(row[column]), 0);
    assert.ok(sum >= 95 && sum <= 105, `the shares add up: ${sum}`);
  }
  assert.match(output, /^GET of 1 KiB\n {2}\d+\.\d % {2}\S+ \S+svc\.mjs:\d+$/m);
});
