import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { start } from '../../support/child.ts';
import { until } from '../../support/receiver.ts';
import { testUser } from '../../support/secrets.ts';
import { writeConfig } from '../../support/server.ts';
import { temporaryFolder } from '../../support/temp.ts';

const mebibyte = 1024 * 1024;
const sizeMiB = 512;

/** Returns the peak memory of a process in MiB. */
function peakMiB(pid: number | undefined): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

test('a file of 512 MiB is forwarded in little memory, to a target that reads slowly', { timeout: 110_000 }, async (t) => {
  let received = 0;
  const target = createServer(async (incoming, response) => {
    for await (const chunk of incoming) {
      received += (chunk as Buffer).length;
      if (received < 64 * mebibyte) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    response.writeHead(201).end();
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  t.after(() => target.close());
  const folder = temporaryFolder(t);
  await writeConfig(folder, {
    event_handlers: { out: { type: 'forward', url: `http://127.0.0.1:${(target.address() as AddressInfo).port}/{path}`, after: 'delete' } },
  });
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
  const url = (await server.line(/(http:\S+)\/\n/))[1] ?? '';
  const put = request(`${url}/home/large`, { method: 'PUT', auth: testUser, headers: { 'content-length': sizeMiB * mebibyte } });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    put.once('response', (reply) => resolve(reply.resume().statusCode)).once('error', reject);
  });
  const chunk = Buffer.alloc(mebibyte, 'x');
  for (let sent = 0; sent < sizeMiB; sent++) if (!put.write(chunk)) await once(put, 'drain');
  put.end();
  assert.equal(await answered, 201);
  const before = peakMiB(server.child.pid);
  await until('the target has received the whole file', () => received === sizeMiB * mebibyte);
  const after = peakMiB(server.child.pid);
  t.diagnostic(`peak after the upload ${before.toFixed(0)} MiB, after forwarding ${after.toFixed(0)} MiB`);
  assert.ok(after - before < 64, `${(after - before).toFixed(0)} MiB more`);
});
