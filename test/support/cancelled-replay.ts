import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { asOperator, asViewer, startConsole } from './console.ts';
import { startReceiver, until } from './receiver.ts';
import { testBasic } from './secrets.ts';
import type { TestServer } from './server.ts';

/** Number of answered requests after which the replay is cancelled, and number of concurrent requests. */
const answered = 100;
const atOnce = 4;

/**
 * Starts a replay in a console and cancels it after some events. Asserts that no further request begins, that deliveries are recorded, and
 * that the service continues.
 */
export async function cancelWhileSending(t: TestContext, events: number): Promise<void> {
  const receiver = await startReceiver(t, { script: Array.from({ length: answered }, () => ({})), otherwise: { isHeld: true } });
  const event_handlers = { crm: { type: 'http', target: '20011', url: receiver.url, concurrency: atOnce } };
  const { server, console } = await startConsole(t, { event_handlers });
  await download(server, events);
  const job = async () => (await console.get(`/api/replays/${id}`, asViewer)).json();
  const request = { filter: { id: ['40039'] }, handlers: ['crm'], force: true };
  const { id } = (await console.post('/api/replays', request, asOperator)).json<{ id: string }>();
  const hasBegun = async () => receiver.requests.length === answered + atOnce && (await job()).delivered === answered;
  while ((await job()).total === null) await sleep(50);
  await until('some events are delivered, and others wait for the answers of the receiver', hasBegun);
  const running = await job();
  assert.deepEqual([running.state, running.total, running.failed], ['running', events, 0]);
  assert.equal((await console.send('DELETE', `/api/replays/${id}`, asOperator)).status, 204);
  await until('the replay has ended', async () => (await job()).state === 'cancelled');
  receiver.release();
  const cancelled = await job();
  assert.deepEqual([cancelled.delivered, cancelled.total], [answered, events]);
  const records = await console.get('/api/deliveries?kind=replays&outcome=delivered&limit=500', asViewer);
  assert.equal(records.json<{ deliveries: unknown[] }>().deliveries.length, answered);
  const test = console.post('/api/handlers/crm/test', {}, asOperator);
  await receiver.received(answered + atOnce + 1);
  receiver.release();
  assert.equal((await test).json().outcome, 'delivered', 'the service continues');
  assert.equal(receiver.requests.length, answered + atOnce + 1, 'no further event was sent');
}

/** Causes events with ID 40039. */
async function download(server: TestServer, times: number): Promise<void> {
  writeFileSync(join(server.home, 'f'), '');
  const agent = new Agent({ keepAlive: true });
  let left = times;
  const one = () =>
    new Promise<void>((resolve, reject) => {
      get(`${server.url}/home/f`, { agent, headers: { authorization: testBasic } }, (reply) => {
        assert.equal(reply.statusCode, 200);
        reply.resume().on('end', resolve);
      }).on('error', reject);
    });
  const many = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: 8 }, many));
  agent.destroy();
}
