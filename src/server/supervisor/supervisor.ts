import type { ChildProcess } from 'node:child_process';
import { changesBetween, needsRestart } from '../../config/changes.ts';
import type { ReloadReport } from '../../config/findings.ts';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { shareControlSocket } from '../../control/control-server.ts';
import { newTicketSecret, ticketSecretLastsMs } from '../../http/connection/ticket-keys.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { type DataFolder, openDataFolder, peekDataFolder } from '../../lib/disk/data-folder.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { countedFigures } from '../../monitor/metrics.ts';
import type { MetricFigures } from '../../monitor/sources.ts';
import { type Ended, nothingEnded, sumOfEnded } from '../listeners.ts';
import { type ConfigFile, type Reloaded, ServerFile } from '../server-file.ts';
import { type Api, Calls } from './calls.ts';
import { type NodeSetup, nodeOffer, type StartedNode, sendableConfig, supervisorOffer } from './protocol.ts';
import { nodeFolder } from './share-of-node.ts';

/** Time that a node has to start. */
const startWithinMs = 60_000;

/** A node that does not tell its figures in this time is shown with its last ones. */
const figuresWithinMs = 2000;

/** Time that a node has to stop, beyond its own limits. */
const endWithinMs = 5000;

class Member {
  readonly number: number;
  readonly calls: Calls<typeof supervisorOffer, typeof nodeOffer>;
  readonly startedMs: number;
  /** Resolves with how it ended, for example `signal SIGKILL`. */
  readonly ended: Promise<string>;
  /** Whether it answers requests. */
  isReady = false;
  /** The last that it told. */
  figures: MetricFigures = [];
  readonly process: ChildProcess;
  readonly #hears: Promise<unknown>;
  readonly #clock: Clock;
  #killedBecause: string | undefined;

  /** @param api what it may call */
  constructor(
    number: number,
    process: ChildProcess,
    api: (member: Member) => Api<typeof supervisorOffer>,
    { clock, log }: { clock: Clock; log: Log },
  ) {
    this.number = number;
    this.process = process;
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
    // Messages to a process that is just ending are lost, and that is told by its end.
    const send = (message: unknown) => void (process.connected && process.send(message as object, () => {}));
    const onIgnored = () => log.warn('a malformed or unexpected message of a node is ignored', { node: number, pid: process.pid });
    this.calls = new Calls([supervisorOffer, api(this)], nodeOffer, send, onIgnored);
    this.#hears = new Promise((resolve) => process.once('message', resolve));
    process.on('message', (message) => this.calls.receive(message));
    this.ended = new Promise((resolve) => {
      process.once('exit', (code, signal) => resolve(this.#killedBecause ?? (signal ? `signal ${signal}` : `exit code ${code}`)));
    });
    void this.ended.then((how) => this.calls.close(`The node ended: ${how}.`));
  }

  /** @throws ServiceError when it cannot; it is ended then */
  async start(setup: NodeSetup): Promise<StartedNode> {
    const timer = this.#clock.after(startWithinMs, () => this.kill('it did not start in time'));
    try {
      await Promise.race([this.#hears, this.ended]);
      const started = await this.calls.call('start', setup);
      this.isReady = true;
      return started;
    } catch (error) {
      this.kill((error as Error).message);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  /** Goes on with the last figures when it does not answer. */
  async askFigures(): Promise<void> {
    const told = this.calls.call('figures').then((figures) => {
      this.figures = figures;
    });
    await this.orTimeout(told, figuresWithinMs);
  }

  /** Waits for an answer; resolves without it when it is late or the node ends. */
  async orTimeout(answer: Promise<void>, withinMs: number): Promise<void> {
    const late = new AbortController();
    await Promise.race([answer, this.#clock.sleep(withinMs, late.signal)]).catch(() => {});
    late.abort();
  }

  /** Lets its requests finish, and ends it. @returns whether all did in time */
  async stop(withinMs: number): Promise<boolean> {
    const timer = this.#clock.after(withinMs + endWithinMs, () => this.kill('it did not stop in time'));
    const inTime = await this.calls.call('stop').catch(() => false);
    if (this.process.connected) this.process.disconnect();
    await this.ended;
    timer.cancel();
    return inTime;
  }

  kill(reason: string): void {
    this.#killedBecause ??= reason;
    this.process.kill('SIGKILL');
  }
}

/** A node that ended this soon after its start counts as one that cannot start. */
const earlyEndMs = 5000;

/** Longest pause before a node that ends again and again is replaced. */
const longestPauseMs = 10_000;

/** Failed starts in a row after which the supervisor gives up, with no node left. */
const giveUpAfter = 6;

/** Time that the node of a killed supervisor has to give up its data folder. */
const freeWithinMs = 10_000;

/** The writer of an accounts file waits this long for another node, which checks the file by itself each second. */
const accountsWithinMs = 2000;

/** A console asks all nodes for one reload within this time. */
const sameReloadMs = 15_000;

export interface SupervisorOptions {
  loaded: LoadedConfig;
  nodes: number;
  fork: () => ChildProcess;
  file: ConfigFile | undefined;
  nodeLog: NodeSetup['log'];
  /** Makes the data folder fit for the account that the nodes become. */
  prepareFolder: (dataFolderPath: string) => void;
  clock: Clock;
  log: Log;
}

/** `svc serve --workers`: starts nodes of one configuration on the same addresses, replaces those that end, reloads and stops them as one. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #members = new Set<Member>();
  readonly #file: ServerFile;
  /** Starts and reloads come one after the other. */
  readonly #lock = new ReadWriteLock();
  #loaded: LoadedConfig;
  #dataFolder: DataFolder | undefined;
  #closeControl: (() => Promise<void>) | undefined;
  #ticketSecret = newTicketSecret();
  #ticketRenewal: Timer | undefined;
  #files: StartedNode['files'] = new Map();
  #listening: StartedNode['listening'] = [];
  /** The last that a node asked for. */
  #reload: { by: Set<Member>; atMs: number; report: Promise<ReloadReport> } | undefined;
  /** Counters of nodes that are gone. */
  #remains: Promise<MetricFigures> = Promise.resolve([]);
  #failures = 0;
  #restarts = 0;
  #isStopping = false;
  #giveUp: (reason: string) => void = () => {};
  /** Resolves with the reason when no node can be started any more. */
  readonly givenUp = new Promise<string>((resolve) => {
    this.#giveUp = resolve;
  });

  constructor(options: SupervisorOptions) {
    const { loaded, file, clock, log } = options;
    this.#options = options;
    this.#loaded = loaded;
    const apply = (next: LoadedConfig) => this.#apply(next);
    this.#file = new ServerFile({ file, running: () => this.#loaded, apply, isFolderShared: true, clock, log });
  }

  /** Starts all nodes; throws ServiceError `unavailable` when one cannot, with nothing left running. */
  async start(): Promise<void> {
    const { nodes, clock, prepareFolder } = this.#options;
    this.#dataFolder = openDataFolder(this.#loaded.config.server.data_folder_path);
    try {
      prepareFolder(this.#dataFolder.path);
      this.#ticketRenewal = clock.every(ticketSecretLastsMs, () => this.#renewTickets());
      // The first one alone: a fault of all is told once.
      this.#listening = await this.#launch(1);
      await Promise.all(Array.from({ length: nodes - 1 }, (_, index) => this.#launch(index + 2)));
      await this.#openControl(this.#dataFolder.path);
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** One line for each service that listened at the start: the first node has all of them. */
  listening(): StartedNode['listening'] {
    return this.#listening;
  }

  /** Has all nodes take over the file as it stands now, or none. */
  reloadFile(): Promise<ReloadReport> {
    return this.#file.reload();
  }

  /** Lets all requests finish, and ends all nodes. @returns whether all did in time */
  async stop(): Promise<boolean> {
    this.#isStopping = true;
    this.#ticketRenewal?.cancel();
    const { shutdown_delay, shutdown_timeout } = this.#loaded.config.server;
    const ready = this.#ready();
    for (const member of this.#members) if (!member.isReady) member.kill('the server stops');
    const finished = await Promise.all(ready.map((member) => member.stop((shutdown_delay + shutdown_timeout) * 1000)));
    await Promise.all([...this.#members].map(({ ended }) => ended));
    await this.#closeControl?.();
    this.#dataFolder?.release();
    return finished.every(Boolean);
  }

  /** Gives a stop that is under way no more time. */
  hurry(): void {
    for (const { calls } of this.#ready()) void calls.call('hurry').catch(() => {});
  }

  #ready(): Member[] {
    return [...this.#members].filter(({ isReady }) => isReady);
  }

  async #launch(number: number): Promise<StartedNode['listening']> {
    const { fork, nodes, file, nodeLog, clock, log } = this.#options;
    const { path: dataFolderPath } = this.#dataFolder as DataFolder;
    await this.#waitUntilFree(nodeFolder(dataFolderPath, number));
    if (this.#isStopping) throw new ServiceError('unavailable', 'The server stops.');
    const member = new Member(number, fork(), (own) => this.#makeApi(own), { clock, log });
    this.#members.add(member);
    void member.ended.then((how) => this.#lose(member, how));
    const setup = { number, nodes, configPath: file?.path, dataFolderPath, log: nodeLog };
    const [loaded, ticketSecret] = [sendableConfig(this.#loaded), this.#ticketSecret];
    const { listening, files } = await member.start({ ...setup, loaded, ticketSecret, files: this.#files });
    if (files.size > 0) this.#files = files;
    if (ticketSecret !== this.#ticketSecret) void member.calls.call('renewTickets', this.#ticketSecret).catch(() => {});
    log.debug('node started', { node: number, pid: member.process.pid });
    return listening;
  }

  async #waitUntilFree(folder: string): Promise<void> {
    const { clock } = this.#options;
    const endMs = clock.monotonicMs() + freeWithinMs;
    while (peekDataFolder(folder).ownerPid !== undefined && clock.monotonicMs() < endMs && !this.#isStopping) await clock.sleep(50);
  }

  #makeApi(own: Member): Api<typeof supervisorOffer> {
    const others = () => this.#ready().filter((member) => member !== own);
    return {
      hello: () => {},
      figures: async (told) => {
        own.figures = told;
        await Promise.all(others().map((member) => member.askFigures()));
        // In one step: a node that ended meanwhile is among the remains alone.
        const figures = await Promise.all([...others().map((member) => member.figures), this.#remains]);
        return { running: this.#ready().length, restarts: this.#restarts, others: figures };
      },
      // A console asks all nodes for one reload; a node that asks again wants another one.
      reload: () => {
        const { clock } = this.#options;
        const last = this.#reload;
        const isAsked = last && !last.by.has(own) && clock.monotonicMs() - last.atMs < sameReloadMs;
        const reload = isAsked ? last : { by: new Set<Member>(), atMs: clock.monotonicMs(), report: this.reloadFile() };
        reload.by.add(own);
        this.#reload = reload;
        return reload.report;
      },
      accountsWritten: async () => {
        await Promise.all(others().map((member) => member.orTimeout(member.calls.call('lookAtAccounts'), accountsWithinMs)));
      },
    };
  }

  #lose(member: Member, how: string): void {
    const { clock, log } = this.#options;
    this.#members.delete(member);
    this.#remains = this.#remains.then((remains) => countedFigures([remains, member.figures]));
    if (this.#isStopping || !member.isReady) return;
    log.warn('a node ended and is replaced', { node: member.number, pid: member.process.pid, reason: how });
    this.#failures = clock.monotonicMs() - member.startedMs < earlyEndMs ? this.#failures + 1 : 0;
    void this.#replace(member.number);
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

  async #apply(next: LoadedConfig): Promise<Reloaded> {
    const changes = changesBetween(this.#loaded.config, next.config);
    const refusal = needsRestart(changes);
    if (refusal !== undefined) throw new ServiceError('unavailable', refusal);
    return this.#lock.exclusive(async () => {
      await this.#makeHostKeys(next);
      const members = this.#ready();
      const loaded = sendableConfig(next);
      const answers = await Promise.allSettled(members.map(({ calls }) => calls.call('prepare', loaded)));
      const failed = answers.find(({ status }, index) => status === 'rejected' && this.#members.has(members[index] as Member));
      if (failed?.status === 'rejected') {
        await Promise.allSettled(members.map(({ calls }) => calls.call('abort')));
        throw failed.reason;
      }
      this.#loaded = next;
      const ended = await Promise.all(members.map((member) => this.#commit(member)));
      return { changes, ended: sumOfEnded(ended) };
    });
  }

  async #commit(member: Member): Promise<Ended> {
    try {
      return await member.calls.call('commit');
    } catch (error) {
      if (!this.#members.has(member)) return nothingEnded;
      this.#options.log.error('a node could not take over the configuration', { node: member.number, reason: error });
      member.kill('it could not take over the configuration');
      return nothingEnded;
    }
  }

  // Nodes that prepare at the same time would each make their own.
  async #makeHostKeys({ config }: LoadedConfig): Promise<void> {
    const isWanted = Object.values(config.services).some((service) => service.type === 'ssh' && service.host_key_paths.length === 0);
    if (!isWanted) return;
    const { loadHostKeys: hostKeysOf } = await import('../../ssh/host-keys.ts');
    await hostKeysOf([], (this.#dataFolder as DataFolder).path);
  }

  #renewTickets(): void {
    this.#ticketSecret = newTicketSecret();
    for (const { calls } of this.#ready()) void calls.call('renewTickets', this.#ticketSecret).catch(() => {});
  }

  // Files are served without it, too: not every file system has sockets.
  async #openControl(dataFolderPath: string): Promise<void> {
    let turn = 0;
    const next = () => {
      const members = this.#ready();
      const member = members[turn++ % members.length];
      return member && nodeFolder(dataFolderPath, member.number);
    };
    try {
      this.#closeControl = await shareControlSocket(dataFolderPath, next);
    } catch (error) {
      this.#options.log.warn('svc sessions, locks and bans will not work', { reason: error });
    }
  }
}
