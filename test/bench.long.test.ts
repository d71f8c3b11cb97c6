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

/** A row of each part that every machine with the long tests can run; its first figure is that of svc. */
const parts: Record<string, readonly string[]> = {
  downloads: ['GET 1 KiB, 64 connections, /s', 'GET of a range', 'GET 1 GiB, 8 streams, MB/s'],
  uploads: ['PUT 1 KiB', 'PUT 1 GiB'],
  listings: ['PROPFIND', 'JSON listing', 'HTML listing'],
  archive: ['ZIP of 256 MiB'],
  connections: ['memory of an idle connection', 'memory of a slow reader', 'memory of a session', 'GET 1 KiB, 64 connections, while'],
  start: ['start to the first reply', 'memory at rest'],
  tls: ['GET 1 GiB', 'handshakes, resumed'],
  sftp: ['get of 1 GiB, chacha20', 'put -r of 100 files', 'memory of a connection, 20 idle'],
  callout: ['GET 1 KiB, 32 connections'],
  tokens: ['GET 1 KiB, 32 connections'],
  webhooks: ['`batch_size: 100`, in order', 'from the reply to an upload to the receiver, p99', '`svc webhook-replay`'],
  resumable: ['1 GiB in pieces of 8 MiB', 'peak memory, 4 GiB by 20 at once'],
  nodes: ['GET 1 KiB, session', 'PUT 1 KiB, session, one webhook'],
  memory: ['idle', 'PUT 1 GiB'],
  journal: ['newest events', 'text that is nowhere', 'memory of the process'],
  console: ['GET 1 KiB, 32 connections'],
  inspections: ['inspection of 256 MiB', 'PUT of 1 KiB where nothing is inspected'],
  pages: ['the first rows are seen', 'longest task, sorting by size', 'console: the first event is seen'],
};

for (const [part, workloads] of Object.entries(parts))
  test(`npm run bench -- ${part} --smoke runs on svc and on the peers that are installed`, async () => {
    const { code, output, faults } = await smoke(['scripts/bench/run.mjs', part, '--smoke']);
    assert.equal(code, 0, faults);
    const rows = output.split('\n');
    for (const workload of workloads) {
      const row = rows.find((line) => line.startsWith(`| ${workload}`));
      assert.match(row ?? '', /^\| [^|]+ \| -?[\d.,]+ (?:· [^|]+)?\|/, `${workload}: a figure of svc`);
    }
  });

test('--only chooses workloads, and an unknown part is refused', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/run.mjs', 'uploads', 'listings', '--only', 'json', '--smoke']);
  assert.equal(code, 0, faults);
  assert.deepEqual(
    [...output.matchAll(/^\| (\S+) .*, (?:\/s|ms|MB\/s) \|/gm)].map(([, name]) => name),
    // Listings of two sizes.
    ['JSON', 'JSON'],
  );
  const refused = await smoke(['scripts/bench/run.mjs', 'disks']);
  assert.equal(refused.code, 2);
  assert.match(refused.faults, /no part disks; there are downloads, /);
});

test('the guard of continuous integration compares CPU with a build', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/guard.mjs', '--smoke']);
  assert.equal(code, 0, faults);
  assert.equal([...output.matchAll(/^\| (?:GET|PUT|PROPFIND|HTML)[^|]* \| \d+\.\d\d \| 1\.35 \|$/gm)].length, 4, output);
});

test('the guard fails where the commit to compare with is neither here nor at the origin', async () => {
  const { code, faults } = await smoke(['scripts/bench/guard.mjs', '--against', '0123456789012345678901234567890123456789']);
  assert.equal(code, 1);
  assert.match(faults, /this clone has no commit 0123456789.*clone with the history/);
});
