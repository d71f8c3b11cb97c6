import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isRunning, type Running, start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { until } from '../support/receiver.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const preload = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/planted-faults.cjs');

interface Planted {
  running: Running;
  client: Client;
  folder: string;
  pid: number;
  /** Returns the monitor's counter of internal errors. */
  internalErrors(): Promise<number>;
  logged(reason: string): Record<string, unknown> | undefined;
  journal(): string;
}

/** Starts a server as a separate process with injected faults (test/support/planted-faults.cjs). */
async function startPlanted(t: TestContext, env: Record<string, string> = {}, args: string[] = []): Promise<Planted> {
  const folder = temporaryFolder(t);
  await writeConfig(folder, { services: { web: { type: 'http', port: 0 }, eyes: { type: 'monitor', port: 0 } } });
  const running = start(t, ['serve', '--log-format', 'json', ...args], {
    cwd: folder,
    env: { NODE_OPTIONS: `--require ${preload}`, ...env },
  });
  const [, web = '', eyes = ''] = await running.line(/web listening on (\S+)\/\n(?:.*\n)*?eyes listening on (\S+)\/\n/);
  const monitor = new Client(eyes);
  const journalFolder = join(folder, 'data/journal');
  return {
    running,
    folder,
    client: new Client(web),
    pid: running.child.pid as number,
    async internalErrors() {
      const { text } = await monitor.get('/metrics', { user: null });
      return Number(/^svc_internal_errors_total (\d+)$/m.exec(text)?.[1]);
    },
    logged: (reason) =>
      running
        .stderr()
        .split('\n')
        .filter((line) => line.includes(`"reason":"${reason}"`))
        .map((line) => JSON.parse(line) as Record<string, unknown>)[0],
    journal: () =>
      readdirSync(journalFolder)
        .filter((name) => name.endsWith('.ndjson'))
        .map((name) => readFileSync(join(journalFolder, name), 'utf8'))
        .join(''),
  };
}

test('a program fault in a request ends only this request: with 500 and a reference, or by closing its connection', async (t) => {
  const { client, running, pid, internalErrors, logged, journal, folder } = await startPlanted(t);
  assert.equal(await internalErrors(), 0);
  const body = 'planted-chunk';
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  const headers = { 'x-request-id': 'of-the-chunk', 'content-digest': digest, accept: 'application/json' };
  const refused = await client.put('/home/a', body, { headers, mayFail: true });
  assert.equal(refused.status, 500);
  const { reference } = logged('planted chunk') ?? {};
  assert.deepEqual(refused.json(), { errors: [{ message: `Internal error. Reference: ${reference}` }] });
  assert.equal(logged('planted chunk')?.request_id, 'of-the-chunk');
  assert.match(String(logged('planted chunk')?.stack), /\n +at /);
  assert.deepEqual(readdirSync(join(folder, 'home')), [], 'the upload is gone');
  assert.ok(journal().includes('"id":"40022"') && journal().includes('"id":"40003"'));

  await assert.rejects(client.get('/home/', { headers: { 'x-request-id': 'planted-head' } }), /hang up|ECONNRESET/);
  assert.equal(logged('planted head')?.request_id, 'planted-head');
  const kept = await client.get('/home/', { headers: { 'x-request-id': 'planted-close', accept: 'application/json' } });
  assert.equal(kept.status, 200);
  await until('the fault at the end of the reply is logged', () => logged('planted close') !== undefined);
  assert.equal(logged('planted close')?.request_id, 'planted-close');

  assert.ok((await internalErrors()) >= 3);
  assert.equal((await client.put('/home/b', 'x')).status, 201);
  assert.ok(isRunning(pid));
  running.child.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('a fault outside requests ends the process with exit code 70; all changes that were confirmed are in the journal', async (t) => {
  for (const kind of ['signal', 'rejection']) {
    const { client, running, journal, logged } = await startPlanted(t, { PLANTED: kind });
    // The first login is done alone, because it computes a hash.
    await client.get('/home/');
    await Promise.all(Array.from({ length: 20 }, (_, index) => client.put(`/home/${index}`, 'x')));
    running.child.kill('SIGUSR2');
    assert.equal((await running.ended).code, 70);
    assert.match(String(logged(`planted ${kind}`)?.message), /belongs to no request/);
    for (let index = 0; index < 20; index++) assert.ok(journal().includes(`"path":"/${index}"`));
  }
});

test('a fault in the journal writer ends the process with exit code 70, even if the fault occurs in a request', async (t) => {
  const { client, running, logged } = await startPlanted(t);
  assert.equal((await client.put('/home/a', 'x')).status, 201);
  await client.put('/home/planted-journal', 'x', { mayFail: true }).catch(() => {});
  assert.equal((await running.ended).code, 70);
  assert.ok(logged('planted journal') ?? logged('The event journal could not be written. (planted journal)'));
});
