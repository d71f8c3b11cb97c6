import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runProgram } from './support/program.ts';
import { hasProgram } from './support/requires.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/temp.ts';
import { writeNetrc } from './support/upload-scripts.ts';

const script = (name: string) => join(process.env.SVC_ROOT ?? process.cwd(), 'examples/links', name);

test('a script creates a link for a supplier, whose script drops files there and compares the receipt', async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  const cwd = temporaryFolder(t);
  writeNetrc(t, cwd);
  const made = await runProgram('sh', [script('make-drop-link.sh'), server.url.replace(/\/$/, ''), '/in', '3', 'Orders "of" May'], { cwd });
  assert.equal(made.code, 0, made.output);
  assert.match(made.output, /^http:\S+\/__svc__\/s\/svc_l_[0-9A-Za-z]{49}\/\n$/);
  const link = made.output.trim();
  writeFileSync(join(cwd, 'order 1.csv'), 'one;two');
  writeFileSync(join(cwd, 'b.txt'), 'second');
  const dropped = await runProgram('sh', [script('drop.sh'), link, 'order 1.csv', 'b.txt'], { cwd });
  assert.equal(dropped.code, 0, dropped.output);
  assert.ok(dropped.output.includes(createHash('sha256').update('second').digest('hex')));
  assert.deepEqual(readdirSync(join(server.home, 'in')).sort(), ['b.txt', 'order 1.csv']);
  assert.equal(readFileSync(join(server.home, 'in/order 1.csv'), 'utf8'), 'one;two');
  const refused = await runProgram('sh', [script('drop.sh'), link.replace('svc_l_', 'svc_l_0').slice(0, -2), 'b.txt'], { cwd });
  assert.notEqual(refused.code, 0);
});

test('curl and wget download a file with only the URL of its link', async (t) => {
  if (!hasProgram(t, 'curl') || !hasProgram(t, 'wget')) return;
  const server = await startServer(t);
  writeFileSync(join(server.home, 'report ü.txt'), 'the report');
  const order = { path: '/report ü.txt' };
  const reply = await server.send('POST', '/home/__svc__/links', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(order),
  });
  const { url } = reply.json<{ url: string }>();
  for (const [program, args] of [
    ['curl', ['-sSOJ', url]],
    ['wget', ['-q', '--content-disposition', url]],
  ] as const) {
    const cwd = temporaryFolder(t);
    const run = await runProgram(program, args, { cwd });
    assert.equal(run.code, 0, run.output);
    const [name = ''] = readdirSync(cwd);
    assert.match(name, /^report .*\.txt$/, program);
    assert.equal(readFileSync(join(cwd, name), 'utf8'), 'the report');
  }
});
