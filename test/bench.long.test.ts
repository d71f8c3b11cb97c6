import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smoke, testParts } from './support/bench-smoke.ts';

testParts({
  downloads: ['GET 1 KiB, 64 connections, /s', 'GET of a range', 'GET 1 GiB, 8 streams, MB/s'],
  uploads: ['PUT 1 KiB', 'PUT 1 GiB'],
  listings: ['PROPFIND', 'JSON listing', 'HTML listing'],
  archive: ['ZIP of 256 MiB'],
  connections: ['memory of an idle connection', 'memory of a slow reader', 'memory of a session', 'GET 1 KiB, 64 connections, while'],
  start: ['start to the first reply', 'memory at rest'],
  tls: ['GET 1 GiB', 'handshakes, resumed'],
  sftp: ['get of 1 GiB, chacha20', 'put -r of 100 files', 'memory of a connection, 20 idle'],
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

test('the CPU guard of continuous integration compares a build with the baseline', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/guard.mjs', '--smoke']);
  assert.equal(code, 0, faults);
  assert.equal([...output.matchAll(/^\| (?:GET|PUT|PROPFIND|HTML)[^|]* \| \d+\.\d\d \| 1\.35 \|$/gm)].length, 4, output);
});

test('the guard fails if the baseline commit is neither in the clone nor at the origin', async () => {
  const { code, faults } = await smoke(['scripts/bench/guard.mjs', '--against', '0123456789012345678901234567890123456789']);
  assert.equal(code, 1);
  assert.match(faults, /this clone has no commit 0123456789.*fetch the history/);
});
