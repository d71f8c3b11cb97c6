import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { asViewer, startConsole } from '../support/console.ts';
import { EventReader } from '../support/event-reader.ts';
import { openBelow } from '../support/open-files.ts';
import { until } from '../support/receiver.ts';
import { basicOf } from '../support/secrets.ts';
import { HeldClients } from '../support/transfers.ts';

/** Time goes so much faster for the server. */
const haste = 20;

const hasty: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * haste,
  every: (periodMs, action) => systemClock.every(periodMs / haste, action),
};

/** Far more than buffers of connections hold, in bytes of events. */
const mostBytes = 64 * 1024 * 1024;

test('connections of live tails that read nothing are ended, those that read go on', { timeout: 120_000 }, async (t) => {
  const { server, console } = await startConsole(t, {}, {}, hasty);
  const reader = await EventReader.open(`${console.url}/api/live`, await console.session());
  t.after(() => reader.close());
  const clients = new HeldClients(t, console.port);
  const deaf = await Promise.all(
    Array.from({ length: 3 }, () => clients.send('GET', '/api/events/live', { authorization: basicOf(asViewer.user) })),
  );
  // The journal is read while somebody follows it.
  const isFollowed = () => openBelow(server.folder).filter((name) => /events-\d+\.ndjson$/.test(name)).length > 1;
  await until('it is followed', async () => {
    await server.get('/home/');
    return isFollowed();
  });
  const path = `/home/${Array.from({ length: 14 }, () => 'x'.repeat(250)).join('/')}`;
  const journal = async () => (await console.get('/api/overview', asViewer)).json<{ journal: { bytes: number } }>().journal.bytes;
  while (isFollowed()) {
    assert.ok((await journal()) < mostBytes, 'it is still followed');
    await Promise.all(Array.from({ length: 20 }, () => server.get(path)));
  }
  for (const socket of deaf) {
    socket.resume();
    await once(socket, 'close');
  }
  assert.equal(reader.isEnded, false);
});
