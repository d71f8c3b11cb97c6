import type { SecurityPolicy } from '../auth/ban-list.ts';
import type { EventDraft } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { FileEventLog } from '../events/journal/file-event-log.ts';
import { FileUploadStore } from '../files/uploads/file-upload-store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Core } from './core.ts';
import { type Listeners, lifetimesOf, timeoutEvent } from './listeners.ts';
import type { RequestParts } from './parts.ts';
import { type DeliveringState, memoryState } from './state.ts';
import { type FleetOptions, WorkerFleet } from './workers/fleet.ts';
import { JournalHost } from './workers/journal-host.ts';
import { StateHost } from './workers/state-host.ts';
import { UploadHost } from './workers/upload-host.ts';

interface FleetServer {
  clock: Clock;
  log: Log;
  policy: () => SecurityPolicy;
  /** The parts in force. */
  parts: () => RequestParts | undefined;
  emit: (draft: EventDraft) => void;
}

/** What a primary process has for its workers: the state that they share, the journal, and the workers themselves. */
export class Fleet {
  /** For what runs in the primary process itself. */
  readonly state: DeliveringState;
  readonly #options: FleetOptions;
  readonly #server: FleetServer;
  readonly #host: StateHost;
  #journal: JournalHost | undefined;
  #workers: WorkerFleet | undefined;

  constructor(options: FleetOptions, server: FleetServer) {
    const { clock, policy, parts, emit } = server;
    this.#options = options;
    this.#server = server;
    this.#host = new StateHost({
      clock,
      policy,
      lifetimes: (service) => lifetimesOf(parts(), service),
      onTimeout: (service, account) => {
        const present = parts();
        if (present?.config.services[service]) emit(timeoutEvent(present, service, account));
      },
    });
    this.state = { ...memoryState(clock, policy), ...this.#host.own };
  }

  /** Those who answer requests; nothing is started yet. */
  listeners(core: Core, dataFolderPath: string): Listeners {
    const { uploads } = core.files;
    if (!(core.journal instanceof FileEventLog && uploads instanceof FileUploadStore)) throw new Error('Workers need a journal in files.');
    const { clock, log, emit } = this.#server;
    this.#journal = new JournalHost(core.journal, core.events, this.#host.peers, clock);
    this.#workers = new WorkerFleet({
      options: this.#options,
      server: core.server,
      dataFolderPath,
      state: this.#host,
      journal: this.#journal,
      uploads: new UploadHost(uploads),
      announce: (id, data, component) => emit({ id, context: { account: processAccount(), component }, data }),
      clock,
      log,
    });
    return this.#workers;
  }

  /** The workers; undefined before they start. */
  get workers(): WorkerFleet | undefined {
    return this.#workers;
  }

  close(): void {
    this.#journal?.close();
    this.#host.close();
  }
}
