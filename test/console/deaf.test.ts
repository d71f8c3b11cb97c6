import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { asViewer, startConsole } from '../support/console.ts';
import { EventReader } from '../support/event-reader.ts';
import { basicOf } from '../support/secrets.ts';
import { HeldClients } from '../support/transfers.ts';

const haste = 20;

const hasty: Clock = {
  ...systemClock,
  monotonicMs: () => systemClock.monotonicMs() * haste,
  every: (periodMs, action) => systemClock.every(periodMs / haste, action),
};

/** Bytes of events: far more than the buffers of connections hold. */
const maxBytes = 64 * 1024 * 1024;

/** Returns the client ports of connections to a local port, without connections that the server has ended. Needs Linux. */
function establishedOf(port: number): Set<number> {
  const portOf = (address = '') => Number.parseInt(address.split(':')[1] ?? '', 16);
  const lines = readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1);
  const fields = lines.map((line) => line.trim().split(/ +/));
  return new Set(fields.filter(([, local, , state]) => state === '01' && portOf(local) === port).map(([, , remote]) => portOf(remote)));
}

test('live tails whose clients read nothing are ended, and other connections continue', { timeout: 120_000 }, async (t) => {
  const { server, console } = await startConsole(t, {}, {}, hasty);
  const reader = await EventReader.open(`${console.url}/api/live`, await console.session());
  t.after(() => reader.close());
  const clients = new HeldClients(t, console.port);
  const deaf = await Promise.all(
    Array.from({ length: 3 }, () => clients.send('GET', '/api/events/live', { authorization: basicOf(asViewer.user) })),
  );
  const followed = () => deaf.filter(({ localPort = 0 }) => establishedOf(console.port).has(localPort)).length;
  assert.equal(followed(), deaf.length);
  const path = `/home/${Array.from({ length: 14 }, () => 'x'.repeat(250)).join('/')}`;
  const journal = async () => (await console.get('/api/overview', asViewer)).json<{ journal: { bytes: number } }>().journal.bytes;
  while (followed() > 0) {
    assert.ok((await journal()) < maxBytes, 'clients that do not read are still connected');
    await Promise.all(Array.from({ length: 20 }, () => server.get(path)));
  }
  for (const socket of deaf) {
    socket.resume();
    await once(socket, 'close');
  }
  assert.equal(reader.isEnded, false);
});
