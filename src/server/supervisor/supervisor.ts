import type { ChildProcess } from 'node:child_process';
import * as z from 'zod';
import { changesBetween, needsRestart } from '../../config/changes.ts';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { type ReloadReport, reloadReport } from '../../config/report-shapes.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { type DataFolder, openDataFolder, peekDataFolder } from '../../lib/disk/data-folder.ts';
import { readAsRoot } from '../../lib/disk/named-file.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { newTicketSecret, ticketSecretLastsMs } from '../../lib/ticket-keys.ts';
import { countedFigures, nodeFigures } from '../../monitor/metrics.ts';
import type { MetricFigures } from '../../monitor/sources.ts';
import { sumOfEnded } from '../listeners.ts';
import { type ConfigFile, type Reloaded, ServerFile } from '../server-file.ts';
import { type NodeSetup, nodeFolder } from './node-setup.ts';
import { Peer } from './peer.ts';

/** Time in milliseconds within which a node must report its figures. If it does not, its previous figures are shown. */
const figuresWithinMs = 2000;

/** Time in milliseconds, beyond `shutdown_delay` and `shutdown_timeout`, after which a stop kills a node that still runs. */
const endWithinMs = 5000;

/** If a node ends within this time after its start, in milliseconds, it counts as unable to start. */
const earlyEndMs = 5000;

/** Maximum pause, in milliseconds, before a node that ends repeatedly is replaced. */
const longestPauseMs = 10_000;

/** If no node is left, the supervisor stops trying after this number of successive failed starts. */
const giveUpAfter = 6;

/** Time in milliseconds within which the nodes of an earlier supervisor that was killed must release their data folders. */
const freeWithinMs = 10_000;

/** Requests of several nodes for a reload count as one if they arrive within this time, in milliseconds. */
const sameReloadMs = 15_000;

const text = z.string().max(65_536);
const metric = z.object({
  name: z
    .string()
    .max(1000)
    .regex(/^[a-z_:][\w:]*$/i),
  help: text,
  type: text,
  aggregator: z.enum(['sum', 'first', 'min', 'max', 'average', 'omit']),
  values: z.array(z.object({ value: z.custom((value) => typeof value === 'number'), labels: z.record(text, z.union([text, z.number()])) })),
});
const metricFigures = z.custom<MetricFigures>((value) => z.array(metric).safeParse(value).success);
const listening = z.array(z.strictObject({ uuid: text, name: text, url: text }));

/** A node and its process. */
interface Member {
  readonly number: number;
  readonly process: ChildProcess;
  readonly peer: Peer;
  readonly startedMs: number;
  /** Resolves when the process has ended, with the way in which it ended, for example `signal SIGKILL`. */
  readonly ended: Promise<string>;
  /** Whether the node answers requests. */
  isReady: boolean;
  /** The last figures that the node reported. */
  figures: MetricFigures;
}

export interface SupervisorOptions {
  loaded: LoadedConfig;
  nodes: number;
  fork: () => ChildProcess;
  file: ConfigFile | undefined;
  nodeLog: NodeSetup['log'];
  /** Gives the data folder to the system user of the nodes. */
  prepareFolder: (dataFolderPath: string) => void;
  clock: Clock;
  log: Log;
}

/**
 * Implements `svc serve --workers`. It starts nodes of one configuration on the same addresses, replaces nodes that have ended, and reloads
 * and stops all nodes together.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #members = new Set<Member>();
  readonly #file: ServerFile;
  /** Starts and reloads run one after the other. */
  readonly #lock = new ReadWriteLock();
  #loaded: LoadedConfig;
  #dataFolder: DataFolder | undefined;
  #ticketSecret = newTicketSecret();
  #ticketRenewal: Timer | undefined;
  #listening: z.output<typeof listening> = [];
  /** The last reload that a node requested. */
  #reload: { by: Set<Member>; atMs: number; report: Promise<ReloadReport> } | undefined;
  /** Counters of nodes that have ended. */
  #remains: Promise<MetricFigures> = Promise.resolve([]);
  #failures = 0;
  #restarts = 0;
  #isStopping = false;
  #giveUp: (reason: string) => void = () => {};
  /** Resolves with the reason if no node can be started. */
  readonly givenUp = new Promise<string>((resolve) => {
    this.#giveUp = resolve;
  });

  constructor(options: SupervisorOptions) {
    const { loaded, file, clock, log } = options;
    this.#options = options;
    this.#loaded = loaded;
    const apply = (next: LoadedConfig) => this.#lock.exclusive(() => this.#apply(next));
    this.#file = new ServerFile({ file, running: () => this.#loaded, apply, isFolderShared: true, clock, log });
  }

  /** Starts all nodes. @throws ServiceError `unavailable` if a node cannot start. In that case nothing is left running */
  async start(): Promise<void> {
    const { nodes, clock, prepareFolder } = this.#options;
    this.#dataFolder = openDataFolder(this.#loaded.config.server.data_folder_path);
    try {
      prepareFolder(this.#dataFolder.path);
      this.#ticketRenewal = clock.every(ticketSecretLastsMs, () => this.#shareTickets(newTicketSecret()));
      // Start the first node before the others, so that an error in the configuration is reported only once.
      this.#listening = await this.#launch(1);
      await Promise.all(Array.from({ length: nodes - 1 }, (_, index) => this.#launch(index + 2)));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Returns the name and URL of each service that listened at the start. The first node has all of them. */
  listening(): z.output<typeof listening> {
    return this.#listening;
  }

  /** Makes all nodes apply the current file. If the first node cannot, none of them does. If another node cannot, that node is replaced. */
  reloadFile(): Promise<ReloadReport> {
    return this.#file.reload();
  }

  /** Lets all requests finish, then ends all nodes. @returns whether all of them ended in time */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    this.#ticketRenewal?.cancel();
    const { shutdown_delay, shutdown_timeout } = this.#loaded.config.server;
    const withinMs = (shutdown_delay + shutdown_timeout) * 1000 + endWithinMs;
    const stopped = [...this.#members].map(async ({ isReady, process, peer, ended }) => {
      if (!isReady) process.kill('SIGKILL');
      const timer = this.#options.clock.after(withinMs, () => process.kill('SIGKILL'));
      peer.ask('stop').catch(() => {});
      const how = await ended;
      timer.cancel();
      return !isReady || how === 'exit code 0';
    });
    const areInTime = await Promise.all(stopped);
    this.#dataFolder?.release();
    return areInTime.every(Boolean);
  }

  /** Ends the grace period of a stop by disconnecting all nodes. A node that loses its supervisor cuts its transfers. */
  hurry(): void {
    for (const { process } of this.#members) if (process.connected) process.disconnect();
  }

  #ready(): Member[] {
    return [...this.#members].filter(({ isReady }) => isReady);
  }

  /** Starts a node. @throws ServiceError if it cannot start. In that case its process has been ended */
  async #launch(number: number): Promise<z.output<typeof listening>> {
    const { fork, nodes, file, nodeLog, clock, log } = this.#options;
    const { path: dataFolderPath } = this.#dataFolder as DataFolder;
    const endMs = clock.monotonicMs() + freeWithinMs;
    const isTaken = () => peekDataFolder(nodeFolder({ dataFolderPath, number })).ownerPid !== undefined;
    while (isTaken() && clock.monotonicMs() < endMs && !this.#isStopping) await clock.sleep(50);
    if (this.#isStopping) throw new ServiceError('unavailable', 'The server stops.');
    const process = fork();
    const member = this.#adopt(number, process);
    // node:cluster would lose messages that are sent before the node's first message.
    await Promise.race([new Promise((resolve) => process.once('message', resolve)), member.ended]);
    const ticketSecret = this.#ticketSecret;
    const loaded = { ...this.#loaded, source: undefined };
    const setup = { number, nodes, configPath: file?.path, dataFolderPath, log: nodeLog, files: readAsRoot, loaded, ticketSecret };
    try {
      const started = await member.peer.ask('start', setup satisfies NodeSetup, listening);
      member.isReady = true;
      if (ticketSecret !== this.#ticketSecret) this.#shareTickets(this.#ticketSecret);
      log.debug('node started', { node: number, pid: process.pid });
      return started;
    } catch (error) {
      process.kill('SIGKILL');
      throw error;
    }
  }

  #adopt(number: number, process: ChildProcess): Member {
    const { clock, log } = this.#options;
    const about = { node: number, pid: process.pid };
    const answers = { hello: () => {}, figures: () => this.#figures(), reload: () => this.#reloadFor(member) };
    const peer = new Peer(process, answers, () => log.warn('a malformed or unexpected message of a node is ignored', about));
    const ended = new Promise<string>((resolve) => {
      process.once('exit', (code, signal) => resolve(signal ? `signal ${signal}` : `exit code ${code}`));
    });
    const member: Member = { number, process, peer, startedMs: clock.monotonicMs(), ended, isReady: false, figures: [] };
    this.#members.add(member);
    void ended.then((how) => {
      peer.end(`The node ended: ${how}.`);
      this.#members.delete(member);
      this.#remains = this.#remains.then((remains) => countedFigures([remains, member.figures]));
      if (this.#isStopping || !member.isReady) return;
      log.warn('a node ended and is replaced', { ...about, reason: how });
      this.#failures = clock.monotonicMs() - member.startedMs < earlyEndMs ? this.#failures + 1 : 0;
      void this.#replace(number);
    });
    return member;
  }

  async #replace(number: number): Promise<void> {
    const { clock, log } = this.#options;
    const pauseMs = this.#failures < 2 ? 0 : Math.min(100 * 2 ** this.#failures, longestPauseMs);
    if (pauseMs > 0) await clock.sleep(pauseMs);
    if (this.#isStopping) return;
    try {
      await this.#lock.exclusive(() => this.#launch(number));
      this.#restarts++;
    } catch (error) {
      if (this.#isStopping) return;
      this.#failures++;
      log.error('a node could not be started', { node: number, reason: error, failures: this.#failures });
      if (this.#failures >= giveUpAfter && this.#ready().length === 0) this.#giveUp((error as Error).message);
      else void this.#replace(number);
    }
  }

  async #figures(): Promise<MetricFigures[]> {
    const late = new AbortController();
    const told = this.#ready().map(async (member) => {
      member.figures = await member.peer.ask('figures', undefined, metricFigures);
    });
    await Promise.race([Promise.allSettled(told), this.#options.clock.sleep(figuresWithinMs, late.signal).catch(() => {})]);
    late.abort();
    // The running nodes and `#remains` are read in one step, so that a node that has ended meanwhile is counted only once.
    const members = this.#ready();
    return Promise.all([...members.map(({ figures }) => figures), this.#remains, nodeFigures(members.length, this.#restarts)]);
  }

  // A console asks all nodes for the same reload. A node that asks again wants another reload.
  #reloadFor(asking: Member): Promise<ReloadReport> {
    const nowMs = this.#options.clock.monotonicMs();
    if (!this.#reload || this.#reload.by.has(asking) || nowMs - this.#reload.atMs >= sameReloadMs)
      this.#reload = { by: new Set(), atMs: nowMs, report: this.reloadFile() };
    this.#reload.by.add(asking);
    return this.#reload.report;
  }

  /** Applies a configuration if the first node can apply it. If another node cannot, that node is replaced. */
  async #apply(next: LoadedConfig): Promise<Reloaded> {
    const changes = changesBetween(this.#loaded.config, next.config);
    const refusal = needsRestart(changes);
    if (refusal !== undefined) throw new ServiceError('unavailable', refusal);
    const reload = ({ peer }: Member) => peer.ask('reload', { ...next, source: undefined }, reloadReport.shape.ended);
    const [first, ...others] = this.#ready();
    const ended = first ? [await reload(first)] : [];
    this.#loaded = next;
    const follow = async (member: Member) => {
      try {
        ended.push(await reload(member));
      } catch (error) {
        const { number: node, process } = member;
        this.#options.log.error('a node could not take over the configuration', { node, reason: error });
        process.kill('SIGKILL');
      }
    };
    await Promise.all(others.map(follow));
    return { changes, ended: sumOfEnded(ended) };
  }

  #shareTickets(secret: Buffer): void {
    this.#ticketSecret = secret;
    for (const { peer } of this.#ready()) peer.ask('renewTickets', secret).catch(() => {});
  }
}
