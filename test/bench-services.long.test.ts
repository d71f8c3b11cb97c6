import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smoke } from './support/smoke.ts';

const parts = ['tls', 'callout', 'webhooks', 'sftp', 'hostile', 'console'];

test('npm run bench -- --smoke: the parts about TLS, callouts, webhooks, SFTP, hostile bodies and the console run', async () => {
  const { code, output, faults } = await smoke(['scripts/bench/run.mjs', ...parts, '--smoke']);
  assert.equal(code, 0, faults);
  assert.match(output, /^\| GET 1 KiB, 32 connections, with Basic, one callout each, \/s \| \*\*[\d.,]+\*\* /m);
  assert.match(output, /^\| delivered, `batch_size: 100`, in order \| \d+ events\/s/m);
  const sftp = output.split('\n').filter((line) => /(?:lftp|scp|get|put|ls -)[^|]*, (MB\/s|s) \| /.test(line));
  assert.ok(sftp.length >= 5, output);
  for (const row of sftp) assert.match(row, /^\| [^|]+ \| \*\*[\d.,-]+\*\* \[/, 'a figure of svc');
  assert.match(output, /^\| RSS with 20 idle connections \| – \| ≤ 200 MiB \| \d+ MiB \|/m);
  assert.match(output, /^\| PROPFIND, 40,000 declarations[^|]* \| [\d.]+ \| [\d.]+ \| [\d.]+ \| 400 \|/m);
  assert.match(output, /^\| CPU of a request, a console, 10 live tails \| no console \| ≤ 1\.03 \| [\d.]+ \|/m);
  assert.match(output, /^\| `svc validate`, 5,000 wrong services[^|]* \| \d+ \| \d+ \| \d+ \| exit 1 \|$/m);
});
