import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { asOperator, asViewer, consoleService, startConsole } from '../support/console.ts';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { basicOf } from '../support/secrets.ts';
import { HeldClients } from '../support/transfers.ts';

const ofStream = { accept: 'application/x-ndjson' };

/** Starts a console. Returns clients that can leave, and a check that streams of events are possible after they have left. */
async function startWithClients(t: TestContext, options = {}) {
  const { server, console } = await startConsole(t, {}, options);
  const clients = new HeldClients(t, console.port);
  const openSegments = () => openBelow(server.folder).filter((name) => /events-\d+\.ndjson$/.test(name)).length;
  const stillStreams = async () => {
    await until('only the journal file that is being written is open', () => openSegments() === 1);
    for (let count = 0; count < 5; count++)
      assert.equal((await console.get('/api/events', { ...asOperator, headers: ofStream })).status, 200);
  };
  /** Writes more events than a stream sends at once. */
  const fillJournal = async () => {
    for (let count = 0; count < 200; count++) await server.get('/home/');
  };
  const errors = () => server.log.filter((line) => line.includes('"level":"error"'));
  return { server, console, clients, stillStreams, fillJournal, errors };
}

test('clients that leave while their password is checked occupy no stream', async (t) => {
  const user = 'slow:marker-S1ow-password';
  const { administrators } = await consoleService();
  const slow = { password: await hashPassword(user.slice(5), { ln: 15, r: 8, p: 1 }), role: 'viewer' };
  const { server, clients, stillStreams } = await startWithClients(t, { administrators: { ...administrators, slow } });
  const paths = Array.from({ length: 5 }, () => ['/api/events', '/api/events/live', '/api/live']).flat();
  for (const path of paths) (await clients.send('GET', path, { ...ofStream, authorization: basicOf(user) })).destroy();
  await until('the password was checked', async () => (await server.events()).some(({ id }) => id === '20190'));
  await stillStreams();
});

test('when a connection ends, its waiting requests are dropped', async (t) => {
  const { console, clients, stillStreams } = await startWithClients(t);
  await console.get('/api/me', asViewer);
  const authorization = basicOf(asViewer.user);
  const socket = await clients.send('GET', '/api/events/live', { authorization });
  await once(socket, 'data');
  socket.write(
    `GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nAccept: ${ofStream.accept}\r\n\r\n`.repeat(8),
  );
  // The reply shows that the earlier requests have arrived.
  await console.get('/api/me', asViewer);
  socket.destroy();
  await stillStreams();
});

test('a client that leaves in the middle of a stream causes no error', async (t) => {
  const { clients, stillStreams, fillJournal, errors } = await startWithClients(t);
  await fillJournal();
  for (let count = 0; count < 5; count++) {
    const socket = await clients.send('GET', '/api/events', { ...ofStream, authorization: basicOf(asViewer.user) });
    await once(socket, 'data');
    socket.destroy();
  }
  await stillStreams();
  assert.deepEqual(errors(), []);
});

test('an unreadable journal is an error, and ends a stream that has begun', async (t) => {
  const { server, console, fillJournal, errors } = await startWithClients(t);
  const request = { ...asViewer, headers: ofStream, mayFail: true };
  mkdirSync(join(server.folder, 'data/journal/events-00000000.ndjson'));
  const reply = await console.get('/api/events?text=nowhere', request);
  assert.equal(reply.status, 500);
  assert.match(reply.text, /^\{"errors":.*Reference: /);
  assert.equal(errors().length, 1);
  await fillJournal();
  await assert.rejects(console.get('/api/events', request), { code: 'ECONNRESET' });
  assert.equal(errors().length, 2);
  for (let count = 0; count < 5; count++) await assert.rejects(console.get('/api/events', request), { code: 'ECONNRESET' });
  assert.equal((await console.get('/api/events?limit=1', request)).status, 200);
});

test('connections that send garbage and stay open do not block other clients', async (t) => {
  const { console } = await startConsole(t, {}, { maximum_concurrent_connections: 3 });
  const sockets = Array.from({ length: 3 }, () => connect({ port: console.port, host: '127.0.0.1', allowHalfOpen: true }));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (const socket of sockets) {
    socket.on('error', () => {});
    socket.write('garbage\r\n\r\n');
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 400 /);
  }
  const isReachable = () =>
    console.get('/api/me', asViewer).then(
      ({ status }) => status === 200,
      () => false,
    );
  await until('there is a free slot again', isReachable);
});
