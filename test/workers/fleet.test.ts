import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog, silentLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { confirmed, type Peer } from '../../src/server/workers/peer.ts';
import { StateHost } from '../../src/server/workers/state-host.ts';
import type { WorkerProcess } from '../../src/server/workers/worker-process.ts';
import { testEvent } from '../contracts/event-log.ts';
import { Client } from '../support/client.ts';
import { connectWorker, forkHere, hostJournal } from '../support/loopback.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { watchOutput } from '../support/secret-watch.ts';
import { testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const policy = () => ({ ban_after_failures: 0, ban_seconds: 1, ban_window_seconds: 1 });

/** A process that ends as soon as it is started. */
function stillborn(): WorkerProcess {
  return {
    pid: undefined,
    send() {},
    onMessage() {},
    onEnd: (listener) => void setImmediate(() => listener('exit code 9')),
    disconnect() {},
    kill() {},
  };
}

test('a worker that cannot be replaced is tried again with longer and longer pauses; then the server gives up', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'home'));
  const lines: string[] = [];
  const log = createLog({ level: 'warn', format: 'json', clock: systemClock, write: (line) => lines.push(line) });
  const forks: number[] = [];
  let givenUp = '';
  const good: WorkerProcess[] = [];
  const service = new Server(await testConfig(folder), {
    clock: systemClock,
    log,
    fleet: {
      workers: 1,
      fork: () => {
        forks.push(performance.now());
        if (forks.length > 1) return stillborn();
        const worker = forkHere(silentLog);
        good.push(worker);
        return worker;
      },
      log: { level: 'error', format: 'json', colour: false },
      onGivenUp: (reason) => {
        givenUp = reason;
      },
    },
  });
  await service.start();
  watchOutput(t, () => service.stop(), []);
  const client = new Client(service.listening()[0]?.url ?? '');
  assert.equal((await client.get('/home/', { headers: { accept: 'application/json' } })).status, 200);
  good[0]?.kill();
  await until('it gives up', () => givenUp !== '');
  assert.match(givenUp, /The worker ended: exit code 9/);
  assert.ok(forks.length >= 5, `${forks.length} processes`);
  const pauses = forks.slice(1).map((atMs, index) => atMs - (forks[index] as number));
  assert.ok((pauses.at(-1) as number) > 500, `pauses of ${pauses.map(Math.round)} ms`);
  assert.match(lines.join(''), /a worker ended and is replaced.*signal SIGKILL/);
  assert.match(lines.join(''), /a worker could not be started.*exit code 9/);
  assert.deepEqual(service.listening(), []);
});

test('requests of a worker wait while the primary process is behind with its events', async (t) => {
  let release: () => void = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const log = new FileEventLog({
    folder: temporaryFolder(t),
    maximumFileSizeBytes: 100_000_000,
    retentionDays: 30,
    clock: systemClock,
    log: silentLog,
    sync: () => gate,
  });
  const lifetimes = () => ({ idleMs: 1, maximumAgeMs: 1 });
  const host = new StateHost({ clock: systemClock, policy, lifetimes, onTimeout: () => {} });
  const journal = hostJournal(t, log, host);
  const worker = connectWorker(host, journal, policy);
  const marks = { group: undefined, takenBy: undefined };
  const changes: Promise<void>[] = [];
  assert.equal(worker.journal.congestion(), undefined);
  while (!worker.journal.congestion()) {
    assert.ok(changes.length < 40, 'it never is behind');
    changes.push(worker.journal.appendDurable(testEvent('x'.repeat(1_000_000)), marks));
    worker.journal.flush();
  }
  let goesOn = false;
  const waiting = worker.journal.congestion()?.then(() => {
    goesOn = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(goesOn, false);
  release();
  await waiting;
  await Promise.all(changes);
  assert.equal(worker.journal.congestion(), undefined);
  await log.close();
});

test('a worker that does not answer is ended, so that an end of a session waits for nobody for ever', async () => {
  const clock = new ManualClock();
  let killed = '';
  let gone: (error: Error) => void = () => {};
  const answer = new Promise<never>((_, reject) => {
    gone = reject;
  });
  const peer = {
    number: 1,
    kill: (reason: string) => {
      killed = reason;
      gone(new Error('The worker ended.'));
    },
  } as Peer;
  const asked = confirmed(peer, clock, answer);
  clock.advance(29_000);
  assert.equal(killed, '');
  clock.advance(1_000);
  assert.equal(killed, 'it did not answer');
  assert.equal(await asked, undefined);
});
