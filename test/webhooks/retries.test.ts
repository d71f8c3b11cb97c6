import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../src/lib/rate-meter.ts';
import { eventHandlerOptions } from '../../src/webhooks/options.ts';
import { askedWaitMs, readWaiting, retryWaitMs } from '../../src/webhooks/retries.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { startServer, type TestServer } from '../support/server.ts';

const options = (more: Record<string, unknown>) => eventHandlerOptions.parse({ type: 'http', url: 'http://x/', ...more });
const waits = (more: Record<string, unknown>, count: number, random = () => 0.5, isBackground = true) =>
  Array.from({ length: count }, (_, index) => retryWaitMs(options(more), index + 1, isBackground, random));

test('linear waits grow by retry_increase, exponential ones double up to retry_maximum_wait, with jitter', () => {
  assert.deepEqual(waits({ retry_count: 3, retry_increase: 2 }, 4), [2000, 4000, 6000, undefined]);
  const exponential = { retry_backoff: 'exponential', retry_count: 6, retry_increase: 2, retry_maximum_wait: '20s' };
  assert.deepEqual(waits(exponential, 7), [1000, 2000, 4000, 8000, 10_000, 10_000, undefined]);
  assert.deepEqual(
    waits(exponential, 6, () => 0),
    [0, 0, 0, 0, 0, 0],
  );
  assert.equal(
    retryWaitMs(options({ ...exponential, retry_count: 1000, retry_maximum_wait: '1d' }), 1000, true, () => 0.5),
    43_200_000,
  );
});

test('with retry_for, the defaults of retry_count and retry_increase give endless retries with pauses; while an upload waits, retry_for is ignored', () => {
  assert.deepEqual(waits({ retry_for: '3d' }, 3), [1000, 2000, 3000]);
  assert.deepEqual(waits({ retry_for: '3d', retry_count: 2, retry_increase: 5 }, 3), [5000, 10_000, undefined]);
  assert.deepEqual(waits({ retry_for: '3d' }, 1, undefined, false), [undefined]);
  assert.deepEqual(waits({ retry_for: '3d', retry_count: 1, retry_increase: 0.5 }, 2, undefined, false), [500, undefined]);
});

test('Retry-After is seconds or a date, a day at most, and ignored when it is malformed', () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const asked = (value: string) => askedWaitMs([['Retry-After', value]], nowMs);
  assert.deepEqual(['0', '90', ' 5 '].map(asked), [0, 90_000, 5000]);
  assert.equal(asked('Thu, 01 Jan 2026 00:01:00 GMT'), 60_000);
  assert.equal(asked('Wed, 31 Dec 2025 00:00:00 GMT'), 0);
  assert.deepEqual(['99999999999', 'Thu, 01 Jan 2099 00:00:00 GMT'].map(asked), [86_400_000, 86_400_000]);
  assert.deepEqual(['-1', '1.5', 'soon', ''].map(asked), [undefined, undefined, undefined, undefined]);
  assert.equal(askedWaitMs([['date', '5']], nowMs), undefined);
});

test('stored waits that are malformed are ignored', () => {
  const wait = { event: 'u', sinceMs: 1, dueMs: 2, failures: 3, urlIndex: 0 };
  assert.deepEqual(readWaiting([wait, { ...wait, dueMs: 'x' }, null, 5]), [wait]);
  assert.deepEqual([readWaiting(undefined), readWaiting({})], [[], []]);
});

test('a rate lets a burst of calls pass, then one at a time in order; a caller can give up its place', async () => {
  const clock = new ManualClock();
  const limit = new RateLimit(clock, { requests: 2, seconds: 1, burst: 3 });
  const passed: number[] = [];
  const give = new AbortController();
  const taken = Array.from({ length: 7 }, (_, index) =>
    limit.take(index === 4 ? give.signal : undefined).then(
      () => void passed.push(index),
      () => {},
    ),
  );
  const settle = () => new Promise(setImmediate);
  await settle();
  assert.deepEqual(passed, [0, 1, 2]);
  for (const expected of [
    [0, 1, 2, 3],
    [0, 1, 2, 3],
    [0, 1, 2, 3, 5],
    [0, 1, 2, 3, 5, 6],
  ]) {
    give.abort();
    clock.advance(500);
    await settle();
    assert.deepEqual(passed, expected);
  }
  await Promise.all(taken);
  clock.advance(60_000);
  for (let index = 7; index < 11; index++) void limit.take().then(() => passed.push(index));
  await settle();
  assert.deepEqual(passed.slice(6), [7, 8, 9], 'no more than a burst is saved up');
});

const failedFor = async (server: TestServer) => (await server.events()).filter(({ id }) => id === '20174');

test('after a 429 with Retry-After a delivery waits, regardless of retry_count, and has not failed; events keep their order', async (t) => {
  const script = Array.from({ length: 3 }, () => ({ status: 429, headers: { 'retry-after': '0' } }));
  const receiver = await startReceiver(t, { script });
  const crm = { type: 'http', target: 40017, url: receiver.url, fail_after_errors: 1 };
  const server = await startServer(t, { event_handlers: { crm } });
  for (const name of ['a', 'b']) await server.put(`/home/${name}`, 'x');
  await receiver.received(5);
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/a', '/a', '/a', '/a', '/b'],
  );
  await until('both deliveries are reported', async () => (await server.eventIds()).filter((id) => id === 20189).length === 2);
  assert.deepEqual(await failedFor(server), []);
});

test('a 429 without Retry-After is a failure; for an upload that waits for its back-end, any 429 is a failure', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 429 } });
  const crm = { type: 'http', target: 40017, url: receiver.url };
  const server = await startServer(t, { event_handlers: { crm } });
  await server.put('/home/a', 'x');
  await until('event 20174', async () => (await failedFor(server)).length === 1);
  const asking = await startReceiver(t, { otherwise: { status: 429, headers: { 'retry-after': '3600' } } });
  const backend = { type: 'http', target: 40017, url: asking.url, retry_for: '3d' };
  const waited = await startServer(t, { event_handlers: { backend }, service: { api_backend_uuid: 'backend' } });
  assert.equal((await waited.put('/home/a', 'x')).status, 201);
  assert.ok((await waited.eventIds()).includes(40060));
});

test('when retry_for is over, an event whose retries all failed is reported', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const crm = { type: 'http', target: 40017, url: receiver.url, retry_for: '4s', retry_backoff: 'exponential' };
  const server = await startServer(t, { event_handlers: { crm } });
  await server.put('/home/a', 'x');
  await until('event 20174', async () => (await failedFor(server)).length === 1);
  assert.ok(receiver.requests.length >= 2);
});
