import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { deserialize, serialize } from 'node:v8';
import type { SecurityPolicy } from '../../src/auth/ban-list.ts';
import { JournalledDispatcher } from '../../src/events/dispatcher.ts';
import type { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { Channel } from '../../src/lib/channel.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { Log } from '../../src/lib/log.ts';
import { Worker } from '../../src/server/worker-server.ts';
import { JournalClient } from '../../src/server/workers/journal-client.ts';
import { JournalHost } from '../../src/server/workers/journal-host.ts';
import type { Peer } from '../../src/server/workers/peer.ts';
import type { PrimaryApi, ToPrimary, WorkerApi } from '../../src/server/workers/protocol.ts';
import { StateClient } from '../../src/server/workers/state-client.ts';
import type { StateHost } from '../../src/server/workers/state-host.ts';
import type { WorkerProcess } from '../../src/server/workers/worker-process.ts';

/** A worker of a primary process, both in this process; messages are copied as between processes. */
export interface LoopbackWorker {
  state: StateClient;
  journal: JournalClient;
  channel: ToPrimary;
  peer: Peer;
  /** As if the worker had died. */
  die(): void;
}

let lastNumber = 0;

/** The journal of a primary process for workers, until the test's end. */
export function hostJournal(t: TestContext, log: FileEventLog, host: StateHost): JournalHost {
  const events = new JournalledDispatcher(log, { uuid: 's', type: 'server', name: 's' }, systemClock);
  const journal = new JournalHost(log, events, host.peers, systemClock);
  t.after(() => journal.close());
  return journal;
}

/** Connects a worker to what a primary process has. */
export function connectWorker(host: StateHost, journalHost: JournalHost | undefined, policy: () => SecurityPolicy): LoopbackWorker {
  const unused = () => assert.fail('not used here');
  const worker: Pick<WorkerApi, 'endSessionsHere' | 'reportSessions' | 'noteBans' | 'journalState' | 'lookAtAccounts'> = {
    endSessionsHere: (service, keys) => state.endSessions(service, keys),
    reportSessions: (service, keys) => state.reportSessions(service, keys),
    noteBans: (notes) => state.bans.note(notes),
    journalState: (fault) => journal.noteState(fault),
    lookAtAccounts: () => {},
  };
  const copy = (items: unknown[]) => deserialize(serialize(items)) as unknown;
  const channel: ToPrimary = new Channel<WorkerApi, PrimaryApi>((items) => toWorker.receive(copy(items)), worker as WorkerApi, unused);
  const state = new StateClient(channel, systemClock, policy, host.acceptedKey);
  const journal = new JournalClient(channel, journalHost?.fault);
  const number = ++lastNumber;
  const peer = { number, kill: unused } as unknown as { -readonly [Name in keyof Peer]: Peer[Name] };
  const toWorker = new Channel<PrimaryApi, WorkerApi>(
    (items) => channel.receive(copy(items)),
    { ...host.apiFor(peer), ...journalHost?.api } as PrimaryApi,
    unused,
  );
  peer.channel = toWorker;
  host.peers.add(peer);
  state.bans.note(host.bans.notes());
  const die = () => {
    toWorker.close('The worker ended.');
    channel.close('The primary process is gone.');
    host.lose(peer);
  };
  return { state, journal, channel, peer, die };
}

/** A worker process that is none: it runs in this process, for tests that look into it. Only one can listen on an address. */
export function forkHere(log: Log): WorkerProcess {
  let toPrimary: (message: unknown) => void = () => {};
  let end: (how: string) => void = () => {};
  let isOver = false;
  const post = (receive: () => (message: unknown) => void) => (items: unknown[]) => {
    const message = deserialize(serialize(items)) as unknown;
    setImmediate(() => isOver || receive()(message));
  };
  const worker = new Worker({
    clock: systemClock,
    makeLog: () => log,
    send: post(() => toPrimary),
    dropPrivileges: () => {},
  });
  const finish = (how: string) => {
    if (isOver) return;
    isOver = true;
    end(how);
  };
  return {
    pid: process.pid,
    send: post(() => (message) => worker.receive(message)),
    onMessage(listener) {
      toPrimary = listener;
    },
    onEnd(listener) {
      end = listener;
    },
    disconnect: () => finish('exit code 0'),
    kill: () => {
      // Nothing of this process ends with it, so its listeners are closed as at a stop.
      worker.receive([[0, 0, 'stop', [0]]]);
      finish('signal SIGKILL');
    },
  };
}
