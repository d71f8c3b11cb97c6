import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';

/** Runs a benchmark as short as it can be; what it measures does not matter here. */
function smoke(args: string[]): Promise<{ code: number | null; output: string; faults: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { timeout: 600_000 }, (_, output, faults) =>
      resolve({ code: child.exitCode, output, faults }),
    );
  });
}

test('npm run bench -- --smoke: every part runs, on svc and on the peers that are installed', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/run.mjs', '--smoke']);
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
  assert.match(output, /^\| GET 1 KiB, 32 connections, with Basic, one callout each, \/s \| \*\*[\d.,]+\*\* /m);
  assert.match(output, /^\| delivered, `batch_size: 100`, in order \| \d+ events\/s/m);
  assert.match(output, /^\| workload \| svc \| svc, Basic \| svc, no events of reads \| svc, 2 workers \|/m);
  assert.match(output, /^\| memory at rest \(RSS\), a page was asked for \| svc \| – \| ≤ 80 \| \d+ \| \S+ \| \d+ \|$/m);
  assert.match(output, /^\| memory of an idle connection[^|]*\| \*\*[\d.]+\*\* /m);
  for (const workload of ['1 GiB in one piece', '1 GiB in pieces of 8 MiB'])
    assert.match(output, new RegExp(`^\\| ${workload}, MB/s (\\| \\*\\*[\\d.,]+\\*\\* [^|]+){4}\\|$`, 'm'), workload);
  const sftp = rows.filter((line) => /(?:lftp|scp|get|put|ls -)[^|]*, (MB\/s|s) \| /.test(line));
  assert.ok(sftp.length >= 5, output);
  for (const row of sftp) assert.match(row, /^\| [^|]+ \| \*\*[\d.,-]+\*\* \[/, 'a figure of svc');
  assert.match(output, /^\| RSS with 20 idle connections \| – \| ≤ 200 MiB \| \d+ MiB \|/m);
  for (const curve of ['entries', 'size', 'connections', 'events', 'accounts', 'rules'])
    assert.match(output, new RegExp(`^\\| ${curve} \\| [^|]+ \\| [^|]+ \\| exponent \\| of its work \\|$`, 'm'));
  assert.match(output, /^\| PROPFIND, 40,000 declarations[^|]* \| [\d.]+ \| [\d.]+ \| [\d.]+ \| 400 \|/m);
  assert.match(output, /^\| `svc validate`, 5,000 wrong services[^|]* \| \d+ \| \d+ \| \d+ \| exit 1 \|$/m);
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
