import type { PasswordVerifier } from '../../accounts/passwords.ts';
import type { AddressBans } from '../../auth/ban-list.ts';
import { LoginAttempts } from '../../auth/login-attempts.ts';
import type { ConsoleOptions } from '../../config/schema/console-options.ts';
import type { Config } from '../../config/schema/schema.ts';
import type { ConsoleServer } from '../../console/console-server.ts';
import type { Samples } from '../../console/live-feed.ts';
import type { ConsoleSources } from '../../console/sources.ts';
import type { Collections } from '../../control/collection.ts';
import type { EventDispatcher } from '../../events/dispatcher.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { ReplayJobs } from '../../webhooks/replay/replay-jobs.ts';
import type { Core } from '../core.ts';
import {
  type Announce,
  type CertificateEnd,
  type Ended,
  nothingEnded,
  type PreparedReload,
  serviceComponent,
  startData,
  sumOfEnded,
} from '../listeners.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { TallyFigures } from '../monitoring.ts';
import { Installation, type NodeLink } from '../nodes/installation.ts';
import { ownReport } from '../nodes/own-report.ts';
import type { ServerFile } from '../server-file.ts';
import { HandlerViews } from './handler-views.ts';
import { deliverySources } from './replays.ts';
import { consoleSources } from './sources.ts';

interface ServerParts {
  dataFolder: { path: string; serverUuid(): string };
  core: Core;
  /** The connection to other nodes. */
  nodes: NodeLink | undefined;
  tally: () => TallyFigures;
  /** Returns all services of this process. */
  listening: () => { uuid: string; name: string; url: string }[];
  collections: Collections;
  file: ServerFile;
  passwords: PasswordVerifier;
  bans: AddressBans;
  announce: Announce;
  clock: Clock;
  log: Log;
}

/**
 * Creates the consoles of a server without starting them. If there are several nodes, this node also begins to report its state and to
 * answer consoles of other nodes.
 *
 * @param view returns the current state of the server; not called before this function has returned
 */
export function makeConsoles(view: () => ServerView, dependencies: ServerParts): ConsoleServices {
  const { clock, log, file, dataFolder, core, nodes, ...rest } = dependencies;
  const { server, events } = core;
  const started = new Date(clock.nowMs()).toISOString();
  const jobs = new ReplayJobs();
  const handlerViews = new HandlerViews(view, clock);
  const installation = new Installation(
    {
      uuid: dataFolder.serverUuid(),
      name: server.name,
      report: () => ownReport(view(), { ...dependencies, started, replays: deliveries.replays.own() }),
      answer: async (question) => (question.kind === 'reload' ? file.reload() : deliveries.replays.answer(question)),
    },
    nodes,
    log,
  );
  const deliveries = deliverySources(view, { jobs, handlerViews, installation, dataFolderPath: dataFolder.path, clock, log });
  const sources = consoleSources(view, {
    ...rest,
    clock,
    log,
    dataFolderPath: dataFolder.path,
    installation,
    handlerViews,
    deliveries,
    configuration: file,
  });
  installation.begin(clock);
  const stop = async () => {
    await jobs.stop();
    await deliveries.replays.settle();
    await installation.end();
  };
  return new ConsoleServices({ ...rest, sources, events, clock, log, stop });
}

interface Dependencies {
  sources: ConsoleSources;
  passwords: PasswordVerifier;
  events: EventDispatcher;
  bans: AddressBans;
  announce: Announce;
  /** Ends work that consoles have started. */
  stop: () => Promise<void>;
  clock: Clock;
  log: Log;
}

/** The `console` services of a server. Their code is loaded when the first of them starts. */
export class ConsoleServices {
  readonly #dependencies: Dependencies;
  readonly #running = new Map<string, ConsoleServer>();
  #attempts: LoginAttempts | undefined;
  #samples: Samples | undefined;

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Prepares a configuration. New consoles listen when the promise has resolved.
   *
   * @throws ServiceError `unavailable` if a console cannot listen. In that case no new console listens
   */
  async prepare(config: Config): Promise<PreparedReload> {
    const wanted = new Map(consoleServices(config));
    const opened = new Map<string, ConsoleServer>();
    const abort = async () => {
      for (const server of opened.values()) await server.close();
    };
    try {
      for (const [uuid, options] of wanted) {
        const running = this.#running.get(uuid);
        if (running?.keepsListening(options)) running.checkReplaceable(options);
        else opened.set(uuid, await this.#open(uuid, options));
      }
    } catch (error) {
      await abort();
      throw error;
    }
    return { commit: () => this.#commit(wanted, opened), abort };
  }

  listening(): { uuid: string; name: string; url: string }[] {
    return [...this.#running].map(([uuid, { url, component }]) => ({ uuid, name: component.name, url }));
  }

  /** Returns when the certificates of consoles with TLS expire. */
  certificateEnds(): CertificateEnd[] {
    return [...this.#running].map(([service, { certificateEndMs: endMs }]) => ({ service, endMs }));
  }

  /** Returns a link that logs in an administrator; undefined without a console. The link works once, within five minutes. */
  loginLink(administrator: string): string | undefined {
    const [first] = this.#running.values();
    return first?.loginLink(administrator);
  }

  async stop(): Promise<void> {
    for (const uuid of [...this.#running.keys()]) await this.#stop(uuid, 'the server stops');
    await this.#dependencies.stop();
  }

  async #commit(wanted: ReadonlyMap<string, ConsoleOptions>, opened: ReadonlyMap<string, ConsoleServer>): Promise<Ended> {
    const ended: Ended[] = [];
    for (const uuid of [...this.#running.keys()]) {
      const options = wanted.get(uuid);
      if (!options) await this.#stop(uuid, 'the configuration does not have it any more');
      else if (opened.has(uuid)) await this.#stop(uuid, 'it listens elsewhere');
      else ended.push({ ...nothingEnded, ...this.#running.get(uuid)?.replace(options) });
    }
    for (const [uuid, server] of opened) this.#running.set(uuid, server);
    return sumOfEnded(ended);
  }

  async #open(uuid: string, options: ConsoleOptions): Promise<ConsoleServer> {
    const { announce, bans, clock, log } = this.#dependencies;
    const component = serviceComponent(uuid, options);
    try {
      // Loaded on demand, so that commands and servers without a console start faster.
      const { ConsoleServer } = await import('../../console/console-server.ts');
      this.#attempts ??= new LoginAttempts(bans, clock, log);
      const { Samples } = await import('../../console/live-feed.ts');
      this.#samples ??= new Samples(() => this.#dependencies.sources.figures(), this.#dependencies);
      const server = new ConsoleServer(uuid, options, { ...this.#dependencies, attempts: this.#attempts, samples: this.#samples });
      await server.listen();
      announce(eventIds.serviceStarted, startData(uuid, options, server.port), component);
      return server;
    } catch (error) {
      announce(eventIds.serviceStartFailed, { ...startData(uuid, options), reason: (error as Error).message }, component);
      throw error;
    }
  }

  async #stop(uuid: string, reason: string): Promise<void> {
    const server = this.#running.get(uuid);
    if (!server) return;
    this.#running.delete(uuid);
    await server.close();
    if (this.#running.size === 0) {
      this.#samples?.close();
      this.#samples = undefined;
    }
    this.#dependencies.announce(
      eventIds.serviceStopped,
      { name: server.component.name, type: server.component.type, reason },
      server.component,
    );
  }
}

function consoleServices(config: Config): [string, ConsoleOptions][] {
  return Object.entries(config.services).flatMap(([uuid, service]) =>
    service.enabled && service.type === 'console' ? [[uuid, service] as [string, ConsoleOptions]] : [],
  );
}
