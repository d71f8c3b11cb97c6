import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runProgram } from './support/program.ts';
import { hasProgram } from './support/requires.ts';
import { startServer } from './support/server.ts';
import { temporaryFolder } from './support/temp.ts';

test('a CI job uploads a file with a token, and only into the folder of the token', async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const server = await startServer(t);
  for (const name of ['in', 'out']) mkdirSync(join(server.home, name));
  const order = { name: 'ci', path: '/in', permissions: ['allow-write'] };
  const headers = { 'content-type': 'application/json' };
  const made = await server.send('POST', '/home/__svc__/tokens', { headers, body: JSON.stringify(order) });
  const { token } = made.json<{ token: string }>();
  const cwd = temporaryFolder(t);
  writeFileSync(join(cwd, 'report.csv'), 'one;two');
  const script = join(process.env.SVC_ROOT ?? process.cwd(), 'examples/tokens/upload.sh');
  const upload = (folder: string, SVC_TOKEN = token) =>
    runProgram('sh', [script, server.url, folder, 'report.csv'], { cwd, env: { SVC_TOKEN } });
  const uploaded = await upload('/in');
  assert.deepEqual([uploaded.code, uploaded.output], [0, 'uploaded /in/report.csv\n']);
  assert.equal(readFileSync(join(server.home, 'in/report.csv'), 'utf8'), 'one;two');
  assert.match((await upload('/out')).output, /403/);
  assert.match((await upload('/in', `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).output, /401/);
});
