import { hostname } from 'node:os';
import type { Account } from '../accounts/account.ts';
import { Grants } from '../auth/grants/grants.ts';
import { type Config, takesLocks } from '../config/schema/schema.ts';
import { JournalledDispatcher } from '../events/dispatcher.ts';
import type { EventServer } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { EventLog } from '../events/journal/event-log.ts';
import { hasEvent, journalEvents } from '../events/journal/event-search.ts';
import { FileEventLog, journalFolder, journalKeyPath } from '../events/journal/file-event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import { eventTimeMs } from '../events/journal/search/event-selection.ts';
import { ExpectationWatch } from '../expectations/watch.ts';
import { FileCache } from '../files/disk/file-cache.ts';
import { PathMutex } from '../files/disk/path-mutex.ts';
import { Retention } from '../files/disk/retention.ts';
import { Temporaries } from '../files/disk/temporaries.ts';
import type { FilesEnvironment } from '../files/files-environment.ts';
import { ForwardedFiles, OpenedForwardedFile } from '../files/forwarded-files.ts';
import { HeldUploads } from '../files/inspections/held-uploads.ts';
import { Inspections } from '../files/inspections/inspections.ts';
import { MissingFolders } from '../files/mounts.ts';
import { Quotas } from '../files/quota.ts';
import { Transfers } from '../files/transfers.ts';
import { KnownTrashes } from '../files/trash/known-trashes.ts';
import { TrashUpkeep } from '../files/trash/trash-upkeep.ts';
import { BackedUpUploads } from '../files/uploads/backed-up-uploads.ts';
import type { UploadLimits } from '../files/uploads/upload-store.ts';
import { UploadUpkeep } from '../files/uploads/upload-upkeep.ts';
import type { Clock } from '../lib/clock.ts';
import type { DataFolder } from '../lib/disk/data-folder.ts';
import type { Log } from '../lib/log.ts';
import type { HandlerFigures, SharedFigures } from '../monitor/sources.ts';
import { fileRecords } from '../state/memory/delivery-records.ts';
import { FileDeliveryStore } from '../state/memory/delivery-store.ts';
import { fileExpectations } from '../state/memory/expectations.ts';
import { FileGrants } from '../state/memory/grants.ts';
import { HandlerPositions } from '../state/memory/handler-positions.ts';
import { FileUploadStore } from '../state/memory/uploads.ts';
import { DeliveryEngine } from '../webhooks/engine/delivery-engine.ts';
import type { ForwardMeans } from '../webhooks/forward/means.ts';
import { DeliveryLog, deliveriesFolder } from '../webhooks/records/delivery-log.ts';
import type { DeliveryRecords } from '../webhooks/records/delivery-record.ts';
import type { WebhookHandler } from '../webhooks/webhook-handler.ts';
import type { Monitoring } from './monitoring.ts';
import { memoryState, type SharedJournal, type State } from './state.ts';

interface CoreDependencies {
  clock: Clock;
  log: Log;
  monitoring: Monitoring;
  state: State;
  uploadLimits: () => UploadLimits;
  heldLimits: () => UploadLimits;
  /** The service's own data folder, which no account can access. */
  excludedPath: string;
  /** Finds an account by its name. It does not find accounts that only a remote endpoint knows. */
  findAccount: (name: string) => Account | undefined;
}

/** The parts of the server that stay the same after a reload, such as the journal, the deliveries and the file environment. */
export class Core {
  readonly server: EventServer;
  readonly events: JournalledDispatcher;
  readonly files: FilesEnvironment;
  readonly deliveries: DeliveryEngine;
  readonly expectations: ExpectationWatch;
  readonly journal: EventLog;
  /** Tokens and links. */
  readonly grants: Grants;
  /** Dependencies of handlers that forward files. */
  readonly forward: ForwardMeans;
  readonly #temporaries: Temporaries;
  readonly #upkeeps: readonly { stop(): Promise<void> }[];
  readonly #shared: SharedJournal;

  private constructor(
    parts: Pick<Core, 'server' | 'events' | 'files' | 'deliveries' | 'forward' | 'expectations' | 'grants'>,
    shared: SharedJournal,
    { temporaries, upkeeps }: { temporaries: Temporaries; upkeeps: readonly { stop(): Promise<void> }[] },
  ) {
    this.server = parts.server;
    this.events = parts.events;
    this.files = parts.files;
    this.deliveries = parts.deliveries;
    this.forward = parts.forward;
    this.expectations = parts.expectations;
    this.grants = parts.grants;
    this.journal = shared.journal;
    this.#shared = shared;
    this.#temporaries = temporaries;
    this.#upkeeps = upkeeps;
  }

  static async open(
    config: Config,
    dataFolder: DataFolder,
    { clock, log, monitoring, state, uploadLimits, heldLimits, excludedPath, findAccount }: CoreDependencies,
  ): Promise<Core> {
    const { uuid, name, events: journal } = config.server;
    const server: EventServer = { uuid: uuid ?? dataFolder.serverUuid(), type: 'server', name: name || hostname() };
    let local: FileEventLog | undefined;
    const makeLocal = (neededFrom: () => LogPosition | undefined) => {
      local = new FileEventLog({
        folder: journalFolder(dataFolder.path),
        maximumFileSizeBytes: journal.maximum_file_size,
        retentionDays: journal.retention_days,
        // Searches in a shared journal use Redis, so the local journal needs no summaries for searches.
        hasSummaries: state.openShared === undefined,
        neededFrom,
        evidence: {
          keyPath: journalKeyPath(dataFolder.path),
          onCheckpoint: (checkpoint) => {
            events.emit({
              id: eventIds.journalCheckpoint,
              data: { ...checkpoint },
              context: { account: processAccount(), component: server },
            });
          },
        },
        clock,
        log,
      });
      return local;
    };
    const own = {
      // The node is identified by the UUID of its data folder, because all nodes can have the same `server.uuid` in the configuration.
      node: dataFolder.serverUuid(),
      dataFolderPath: dataFolder.path,
      retentionDays: config.server.state.retention_days || journal.retention_days,
    };
    const opened = (await state.openShared?.(makeLocal, own)) ?? (await openOwn(makeLocal, config, dataFolder, clock, log));
    const events = new JournalledDispatcher(opened.journal, server, clock);
    events.observe((event) => monitoring.event(event));
    const forward = forwardMeans({ journal: opened.journal, events, files: () => files, findAccount });
    const deliveries = new DeliveryEngine(opened.deliveryStore, {
      journal: opened.journal,
      events,
      server,
      onDelivery: (record) => monitoring.delivery(record),
      urlHealth: (handler) => state.urlHealth(handler),
      forward,
      clock,
      log,
    });
    const expectations = new ExpectationWatch({ journal: opened.journal, events, server, store: opened.expectationStore, clock, log });
    const temporaries = new Temporaries(dataFolder.path, log);
    const retention = new Retention(dataFolder.path, clock);
    const inspections = new Inspections({
      events,
      clock,
      log,
      urlHealth: (inspection) => state.urlHealth(inspection),
      onVerdict: (inspection, verdict, durationMs) => monitoring.inspection(inspection, verdict, durationMs),
    });
    const heldStore = state.held
      ? new BackedUpUploads(state.held, dataFolder.path, { clock, log }, 'held-notes')
      : new FileUploadStore({ dataFolderPath: dataFolder.path, folder: 'held', limits: heldLimits, clock, log });
    const held = new HeldUploads({
      store: heldStore,
      inspections,
      environment: () => files,
      server,
      isAlone: state.held === undefined,
    });
    const files: FilesEnvironment = {
      events,
      held,
      clock,
      log,
      temporaries,
      retention,
      quotas: new Quotas(clock),
      pathMutex: new PathMutex(),
      locks: state.locks,
      fileCache: new FileCache(clock, config.server.file_cache_size),
      uploads: state.uploads
        ? new BackedUpUploads(state.uploads, dataFolder.path, { clock, log })
        : new FileUploadStore({ dataFolderPath: dataFolder.path, limits: uploadLimits, clock, log }),
      transfers: new Transfers(clock),
      trashes: new KnownTrashes(excludedPath),
      missingFolders: new MissingFolders(log),
      excludedPaths: [excludedPath],
    };
    // The latest events of this node can be missing in the shared journal, so both journals are searched.
    const journals = new Set([local, opened.journal].filter((journal) => journal !== undefined));
    const isJournalled = async (uuid: string, sinceMs: number) => {
      for (const journal of journals) if (await hasEvent(journal, uuid, sinceMs)) return true;
      return false;
    };
    const upkeep = new UploadUpkeep({ files, held: heldStore, isJournalled, clock, log });
    const heldUpkeep = new UploadUpkeep({ files: { events, clock, uploads: heldStore }, isJournalled, clock, log });
    await upkeep.start();
    await heldUpkeep.start();
    const trashUpkeep = new TrashUpkeep(files, isJournalled);
    trashUpkeep.start();
    const ownGrants = new FileGrants(dataFolder.path, { clock, log });
    const store = state.grants?.(ownGrants) ?? ownGrants;
    const grants = new Grants({ store, events, server, clock, log });
    grants.start();
    return new Core({ server, events, files, deliveries, forward, expectations, grants }, opened, {
      temporaries,
      upkeeps: [upkeep, heldUpkeep, trashUpkeep],
    });
  }

  /** Applies the event handlers and expectations of a configuration. @param handlers the prepared handlers of the configuration */
  async apply(handlers: ReadonlyMap<string, WebhookHandler>, { event_handlers, expectations }: Config): Promise<void> {
    await this.deliveries.apply(handlers, Object.keys(event_handlers));
    await this.expectations.apply(expectations);
  }

  /** Returns true if the journal can record changes, otherwise the reason why not. */
  journalCheck(): true | string {
    try {
      this.events.assertWritable();
      return true;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async handlerFigures(nowMs: number): Promise<HandlerFigures[]> {
    return Promise.all(
      (await this.deliveries.figures()).map(async ({ handler, state, hasLease, position, shared }) => {
        const { events, oldestMs } = shared?.waiting ?? (await this.journal.backlog(position));
        const oldestWaitingS = oldestMs === undefined ? 0 : Math.max(nowMs - oldestMs, 0) / 1000;
        const [isRunning, isPaused] = [state === 'running', state === 'paused'];
        const ageS = shared && shared.ageMs / 1000;
        return { handler, isRunning, isPaused, hasLease, waitingEvents: events, oldestWaitingS, ageS };
      }),
    );
  }

  /** Returns figures about the state that nodes share; undefined for a single process. */
  async sharedFigures(): Promise<SharedFigures | undefined> {
    return this.#shared.figures?.();
  }

  /** The records of the deliveries of all nodes. */
  get records(): DeliveryRecords {
    return this.#shared.records;
  }

  /** Opens the log for the records of deliveries that an operator starts. */
  openReplayLog(): ReturnType<SharedJournal['openReplayLog']> {
    return this.#shared.openReplayLog();
  }

  /** Writes all events to disk immediately, before the process ends because of a fault. @throws the errors of the write */
  flushNow(): void {
    this.journal.flushNow();
  }

  /** Stops all parts. @param timeoutMs longest time to wait for running deliveries @returns whether all deliveries ended in time */
  async close(timeoutMs: number): Promise<boolean> {
    await this.files.held.stop();
    for (const upkeep of this.#upkeeps) await upkeep.stop();
    this.#temporaries.close();
    await this.expectations.stop();
    const inTime = await this.deliveries.stop(timeoutMs);
    this.grants.stop();
    await this.grants.store.close();
    await this.journal.close();
    return inTime;
  }
}

/** Opens the journal and the deliveries of a single process. */
async function openOwn(
  makeLocal: (neededFrom: () => LogPosition | undefined) => FileEventLog,
  config: Config,
  dataFolder: DataFolder,
  clock: Clock,
  log: Log,
): Promise<SharedJournal> {
  const folder = deliveriesFolder(dataFolder.path);
  const { maximum_file_size, retention_days } = config.server.events;
  // The positions are read first, because opening the journal removes events that no handler needs any more.
  const positions = await HandlerPositions.open(folder, log);
  let store: FileDeliveryStore | undefined;
  const journal = makeLocal(() => (store ? store.neededFrom() : positions.oldest(enabledHandlers(config))));
  const files = { folder, maximumFileSizeBytes: maximum_file_size, clock, log };
  store = new FileDeliveryStore(positions, { ...files, journal, retentionDays: retention_days });
  return {
    journal,
    records: fileRecords(folder),
    openReplayLog: () => DeliveryLog.create(files),
    deliveryStore: store,
    expectationStore: fileExpectations(dataFolder.path),
  };
}

function enabledHandlers(config: Config): string[] {
  return Object.entries(config.event_handlers).flatMap(([uuid, handler]) => (handler.enabled ? [uuid] : []));
}

/**
 * Opens the state that the configuration selects. Waits a short time for Redis if it is not reachable.
 *
 * @param config returns the current configuration
 * @throws the errors of `createRedisLink`
 */
export async function openState(
  config: () => Config,
  dependencies: { clock: Clock; log: Log; uploadLimits: () => UploadLimits; heldLimits: () => UploadLimits },
): Promise<State> {
  const policy = () => config().server.security_policy;
  const areLocksTaken = () => takesLocks(config());
  const { state } = config().server;
  if (state.type === 'memory') return memoryState(dependencies.clock, policy, areLocksTaken);
  // Imported only if needed, so that commands and servers without Redis start faster.
  const { openRedisState } = await import('./state-redis.ts');
  return openRedisState(state, { ...dependencies, policy, areLocksTaken });
}

interface Dependencies {
  journal: EventLog;
  events: JournalledDispatcher;
  /** Returns the environment of the file operations, which all accounts share. */
  files: () => FilesEnvironment;
  findAccount: (name: string) => Account | undefined;
}

/** Creates the functions that a running service provides to handlers that forward files. */
function forwardMeans({ journal, events, files, findAccount }: Dependencies): ForwardMeans {
  const forwarded = () => new ForwardedFiles({ environment: files(), findAccount });
  return {
    open: (event, movedTo) => forwarded().open(event, movedTo),
    connectSftp: async (...options) => (await import('../ssh/client/sftp-client.ts')).connectSftp(...options),
    records: {
      async forwarded(event, { component, url, sizeBytes, digest, status }) {
        const about = { event_id: event.id, event_uuid: event.uuid, uuid: component.uuid, name: component.name };
        // The event is written before the file is moved. If this node is killed, the node that takes over learns from the event that the
        // file was sent.
        await events.emitShared({
          id: eventIds.fileForwarded,
          context: { account: processAccount(), component },
          data: { ...about, url, status, path: event.data.path, size: sizeBytes, digest },
        });
      },
      async wasForwarded(event, handler) {
        const selection = { id: [eventIds.fileForwarded], uuid: [], text: event.uuid };
        // The clocks of nodes differ, so the search begins an hour before the event.
        for await (const { event: told } of journalEvents(journal, selection, () => {}, eventTimeMs(event) - 3_600_000))
          if (told.data.event_uuid === event.uuid && told.data.uuid === handler) return true;
        return false;
      },
      async finish(event, file, after, component) {
        if (!(file instanceof OpenedForwardedFile)) throw new Error('The file was opened elsewhere.');
        if (after.kind === 'delete') await forwarded().remove(event, file, component);
        else await forwarded().move(event, file, after.segments, component);
      },
    },
  };
}
