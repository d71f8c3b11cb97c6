import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smoke } from './support/smoke.ts';

const parts = ['downloads', 'uploads', 'listings', 'archives', 'connections', 'start'];

test('npm run bench -- --smoke: what plain HTTP is measured with runs, on svc and on the peers that are installed', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/run.mjs', ...parts, '--smoke']);
  assert.equal(code, 0, faults);
  const rows = output.split('\n');
  for (const workload of [
    'GET 1 KiB',
    'GET 1 GiB, 8 streams',
    'GET of a range',
    'PUT 1 KiB',
    'PUT 1 GiB',
    'PROPFIND',
    'JSON listing',
    'ZIP',
  ]) {
    const row = rows.find((line) => line.startsWith(`| ${workload}`));
    assert.match(row ?? '', /^\| [^|]+ \| \*\*[\d.,]+\*\* \[/, `${workload}: a figure of svc`);
  }
  assert.match(output, /^\| workload \| svc \| svc, Basic \| svc, no events of reads \|/m);
  assert.match(output, /^\| memory at rest \(RSS\), a page was asked for \| svc \| – \| ≤ 80 \| \d+ \| \S+ \| \d+ \|$/m);
  assert.match(output, /^\| memory of an idle connection[^|]*\| \*\*[\d.]+\*\* /m);
});
