import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { constants } from 'node:http2';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { maxPending } from '../../src/lib/pending-replies.ts';
import { selfSigned } from '../support/certificates.ts';
import { type Act, connectRaw, frame, frameTypes, type RawHttp2, requestFrame } from '../support/http2-raw.mjs';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

/** The reason reported if Node.js ends a connection. */
const refused = 'The frames are not valid HTTP/2, or there are too many of them.';

interface Flooded {
  server: TestServer;
  cert: string;
  /** Opens another connection with the session of alice. */
  connect(): Promise<RawHttp2>;
}

/** Starts an https service with a small and a large file. */
async function startFlooded(t: TestContext, service = {}): Promise<Flooded> {
  const { cert, certPath, keyPath } = selfSigned(t);
  const server = await startServer(t, { service: { type: 'https', tls_certificate_path: certPath, tls_key_path: keyPath, ...service } });
  writeFileSync(join(server.home, 'small'), 'x'.repeat(1000));
  writeFileSync(join(server.home, 'large'), '');
  truncateSync(join(server.home, 'large'), 50_000_000);
  const session = await server.login('alice', undefined, { ca: cert });
  const connect = async () => {
    const connection = connectRaw(server.url, cert, session);
    t.after(() => connection.socket.destroy());
    await connection.ready;
    return connection;
  };
  return { server, cert, connect };
}

/** Sends frames in small portions until the connection is closed. @returns whether it was closed before all were sent */
async function isEndedWithin(connection: RawHttp2, portions: number, portion: Buffer): Promise<boolean> {
  for (let sent = 0; sent < portions && !connection.isOver; sent++) {
    connection.write(portion);
    await nextTurn();
  }
  return connection.isOver;
}

test('a flood of resets, SETTINGS or PING gets ENHANCE_YOUR_CALM; a moderate number does not', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, connect } = await startFlooded(t);
  const floods: [Act, string][] = [
    ['resets', 'Too many streams were reset.'],
    ['settings', 'Too many SETTINGS or PING frames.'],
    ['pings', 'Too many SETTINGS or PING frames.'],
  ];
  for (const [name, told] of floods)
    for (const count of [100, 1000]) {
      const before = (await server.events()).length;
      const connection = await connect();
      for (let sent = 0; sent < count; sent++) connection.acts[name]();
      connection.acts.small();
      await until(`${count} ${name}`, () => connection.replies200 > 0 || connection.isOver);
      assert.equal(connection.isOver, count !== 100, `${count} ${name}`);
      // GOAWAY can be lost: when a connection is closed before all data was read, systems discard what has arrived.
      const { goaway } = connection;
      assert.ok(goaway === undefined || (count !== 100 && goaway === constants.NGHTTP2_ENHANCE_YOUR_CALM), `${count} ${name}: ${goaway}`);
      // Newer versions of Node.js also count streams, and can be the first to end the connection.
      const isTold = async () =>
        (await server.events()).slice(before).some(({ data }) => data.details === told || data.details === refused);
      if (count !== 100) await until('the event of the flood', isTold);
    }
});

test('endless header frames, and a body of empty frames, end their connection; other connections are served', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, cert, connect } = await startFlooded(t);
  const neighbour = await connect();
  const head: [string, string][] = [
    [':method', 'PUT'],
    [':scheme', 'https'],
    [':path', '/home/flood'],
    [':authority', 'localhost'],
    ['authorization', testBasic],
  ];
  // Neither END_STREAM nor END_HEADERS.
  const unfinished = Buffer.from(requestFrame(1, head));
  unfinished[4] = 0;
  const field = requestFrame(1, [['x-flood', 'x'.repeat(100)]]).subarray(9);
  const floods = {
    'CONTINUATION (CVE-2024-27983)': [unfinished, frame(frameTypes.continuation, 0, 1, field)],
    'empty CONTINUATION': [unfinished, frame(frameTypes.continuation, 0, 1)],
    'empty DATA (CVE-2019-9518)': [Buffer.from(unfinished).fill(0x4, 4, 5), frame(frameTypes.data, 0, 1)],
  } as const;
  let ended = 0;
  for (const [name, [first, next]] of Object.entries(floods)) {
    const connection = await connect();
    connection.write(first);
    assert.ok(await isEndedWithin(connection, 5000, next), name);
    ended++;
    const told = async () => (await server.events()).filter(({ data }) => data.details === refused).length;
    await until(`the event of ${name}`, async () => (await told()) === ended);
  }
  neighbour.acts.small();
  await until('the neighbour has its reply', () => neighbour.replies200 === 1);
  assert.equal((await server.get('/home/flood', { ca: cert })).status, 404);
  assert.deepEqual(
    (await server.eventIds()).filter((id) => id === 40003),
    [],
    'a flood is not an internal error',
  );
  assert.deepEqual(
    server.log.filter((line) => line.includes('internal error')),
    [],
  );
});

test('the number of streams that a client does not read is limited; after the idle time all are closed', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, cert, connect } = await startFlooded(t, { idle_connection_timeout: 2 });
  const connection = await connect();
  // SETTINGS_INITIAL_WINDOW_SIZE 0: no content may be sent.
  connection.write(frame(frameTypes.settings, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0)));
  for (let stream = 0; stream < maxPending; stream++) connection.acts.requests();
  await until('all have the head of their reply', () => connection.replies200 === maxPending);
  assert.ok(openBelow(server.home).length <= maxPending);
  assert.equal((await server.get('/home/small', { ca: cert })).status, 200, 'another connection is served');
  connection.acts.requests();
  await until('one more is refused', () => connection.resets.length > 0 || connection.isOver);
  assert.equal(connection.replies200, maxPending);

  const patient = await connect();
  patient.write(frame(frameTypes.settings, 0, 0, Buffer.of(0, 4, 0, 0, 0, 0)));
  for (let stream = 0; stream < 10; stream++) patient.acts.requests();
  await until('the idle time has passed', () => patient.isOver && connection.isOver);
  await until('all are closed', () => openBelow(server.home).length === 0);
});

test('a header section that arrives byte by byte keeps its connection only for the idle time', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { connect } = await startFlooded(t, { idle_connection_timeout: 1 });
  const connection = await connect();
  const request = requestFrame(1, [
    [':method', 'GET'],
    [':path', `/${'x'.repeat(100)}`],
  ]);
  let sent = 0;
  const timer = setInterval(() => connection.write(request.subarray(sent, ++sent)), 100);
  t.after(() => clearInterval(timer));
  await until('the connection has ended', () => connection.isOver);
  assert.ok(sent < request.length, 'the connection ended before the header section');
});
