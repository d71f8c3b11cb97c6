import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { TestContext } from 'node:test';
import { EventStreams } from '../../src/console/event-stream.ts';
import { LiveFeed, Samples } from '../../src/console/live-feed.ts';
import { silentLog } from '../../src/lib/log.ts';
import { ManualClock } from './manual-clock.ts';
import { until } from './receiver.ts';

/** Opens connections whose clients send a request and then read nothing. Returns the server's replies, to which a test can write. */
export async function deafReaders(t: TestContext, count: number): Promise<ServerResponse[]> {
  const replies: ServerResponse[] = [];
  const server = createServer((_, outgoing) => void replies.push(outgoing)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sockets = Array.from({ length: count }, () => connect((server.address() as AddressInfo).port, '127.0.0.1'));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  for (const socket of sockets) {
    socket.pause();
    socket.on('error', () => {});
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  }
  await until('all requests have arrived', async () => replies.length === count);
  return replies;
}

/**
 * Opens streams whose clients do not read. Asserts that the streams share one query of the overview, that at most one message waits for
 * each, and that they are cut off after a while.
 */
export async function overviewForDeafReaders(t: TestContext, count: number): Promise<void> {
  const clock = new ManualClock();
  const administrator = { name: 'olga', role: 'viewer', stamp: '' } as const;
  const streams = new EventStreams(clock, { onBeat: () => true, isInForce: () => true });
  let asked = 0;
  const filler = 'x'.repeat(8 * 1024);
  const overview = async () => ({ asked: ++asked, filler }) as never;
  const zero = { requests: 0, failures: 0, received_bytes: 0, sent_bytes: 0, events: 0, deliveries: 0, failed_deliveries: 0 };
  const levels = { sessions: 0, connections: 0, memory_bytes: 0, waiting_events: 0 };
  const samples = new Samples(async () => ({ ...zero, ...levels }), { clock, log: silentLog });
  const feed = new LiveFeed(overview, samples, { clock, log: silentLog });
  const replies = await deafReaders(t, count);
  const open = replies.map((outgoing) => streams.open({ outgoing, administrator, session: undefined }, {}));
  for (const stream of open) feed.add(stream);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  // Wait until the kernel's buffers of all readers are full.
  for (let tick = 0; tick < 2000 && !open.every(({ isBehind }) => isBehind); tick++) {
    clock.advance(2000 / 1000);
    for (const stream of open) if (!stream.isBehind) stream.send({ event: 'overview', data: { filler } });
    await turn();
  }
  assert.ok(open.every(({ isBehind }) => isBehind));
  const waiting = () => replies.map(({ writableLength }) => writableLength);
  const most = Math.max(...waiting());
  const before = asked;
  for (let tick = 0; tick < 5; tick++) {
    clock.advance(2000);
    await turn();
  }
  assert.equal(asked - before, 5, 'one query for all streams');
  assert.equal(Math.max(...waiting()), most, 'the amount of unsent data does not grow');
  assert.ok(most < 64 * 1024, `${most}`);
  for (let beat = 0; beat < 4; beat++) clock.advance(15_000);
  assert.ok(open.every(({ signal }) => signal.aborted));
  const after = asked;
  clock.advance(60_000);
  await turn();
  assert.equal(asked, after, 'without a viewer nothing is requested');
  samples.close();
}
