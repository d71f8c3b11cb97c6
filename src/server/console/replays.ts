import { join } from 'node:path';
import type { ReplayList, ReplayView } from '../../console/api/schemas/replays.ts';
import type { DeliverySources, ReplaySource } from '../../console/sources.ts';
import { replay } from '../../control/shown-node.ts';
import type { Clock } from '../../lib/clock.ts';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { readTextIfThere, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { sendTest } from '../../webhooks/replay/replay-handlers.ts';
import { type JobDependencies, type ListedJob, maxEnded, type ReplayJobs } from '../../webhooks/replay/replay-jobs.ts';
import type { Core } from '../core.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { Installation, NamedNode } from '../nodes/installation.ts';
import type { Question, Reply } from '../nodes/node-messages.ts';
import type { Request } from '../nodes/node-questions.ts';
import type { HandlerViews } from './handler-views.ts';

interface Dependencies {
  /** The replays of this node. */
  jobs: ReplayJobs;
  handlerViews: HandlerViews;
  installation: Installation;
  dataFolderPath: string;
  clock: Clock;
  log: Log;
}

/**
 * Answers the requests of consoles about deliveries, replays and event handlers.
 *
 * @param view returns the current state of the server; called only after its core is open
 */
export function deliverySources(
  view: () => ServerView,
  { jobs, handlerViews, installation, dataFolderPath, clock, log }: Dependencies,
): DeliverySources & { replays: ConsoleReplays } {
  const core = () => view().core;
  const journal = () => ({
    config: view().config,
    end: core().journal.end,
    openReader: ((...parameters) => core().journal.openReader(...parameters)) as Core['journal']['openReader'],
    since: (sinceMs: number | undefined) => core().journal.since(sinceMs),
    records: core().records,
    async waitingPositions() {
      const figures = await core().deliveries.figures();
      return new Map(figures.filter(({ state }) => state !== 'stopped').map(({ handler, position }) => [handler, position]));
    },
  });
  const openReplayLog = () => core().openReplayLog();
  const jobDependencies = () => ({ journal: journal(), openReplayLog, server: core().server, clock, forward: core().forward });
  return {
    replays: new ConsoleReplays(jobs, jobDependencies, installation, new PastReplays(jobs, dataFolderPath, log)),
    get records() {
      return core().records;
    },
    shown: () => ({ journal: journal(), server: core().server }),
    control: () => core().deliveries,
    async handlers() {
      const others = await installation.others();
      return { handlers: await handlerViews.list(others), incomplete: others.incomplete };
    },
    wanting: (position) => handlerViews.wanting(position),
    sendTest(uuid, by) {
      const handlers = view().config.event_handlers;
      const options = Object.hasOwn(handlers, uuid) ? handlers[uuid] : undefined;
      if (!options) throw new ServiceError('not-found', `There is no event handler "${uuid}".`);
      return sendTest(uuid, options, by, { ...jobDependencies(), events: core().events });
    },
  };
}

/** Time in milliseconds within which another node must answer a question about a replay. */
const answerWithinMs = 5000;

type ReplayQuestion = 'replay-cancel' | 'replay-results';

/** The replays of all nodes. Each replay runs on the node at which it was requested. */
export class ConsoleReplays implements ReplaySource {
  readonly #jobs: ReplayJobs;
  readonly #dependencies: () => JobDependencies;
  readonly #installation: Installation;
  readonly #past: PastReplays;

  constructor(jobs: ReplayJobs, dependencies: () => JobDependencies, installation: Installation, past: PastReplays) {
    this.#jobs = jobs;
    this.#dependencies = dependencies;
    this.#installation = installation;
    this.#past = past;
    jobs.onChange(() => void past.keep());
  }

  /** The replays of this node, also those before its last start. */
  own(): OwnReplay[] {
    return this.#past.all();
  }

  /** Resolves when the replays are on disk. */
  settle(): Promise<void> {
    return this.#past.keep();
  }

  async start(...[request, by]: Parameters<ReplaySource['start']>): Promise<string> {
    const id = this.#jobs.start(request, by, this.#dependencies());
    // After this report, other nodes can find the replay.
    await this.#installation.tell();
    return id;
  }

  async list(): Promise<ReplayList> {
    const { nodes, ownName, incomplete } = await this.#installation.others();
    const own = this.own().map((listed) => ({ ...listed, node: ownName }));
    const others = nodes.flatMap(({ node, report }) => report.replays.map((replay) => ({ ...replay, node })));
    return { replays: [...own, ...others].sort((a, b) => (a.created < b.created ? 1 : -1)), incomplete };
  }

  async find(id: string): Promise<ReplayView> {
    const { replays, incomplete } = await this.list();
    const found = replays.find((replay) => replay.id === id);
    if (!found) throw notFound(incomplete);
    return found;
  }

  async results(id: string): Promise<string> {
    return this.#ownResults(id) ?? this.#ask({ kind: 'replay-results', replay: id });
  }

  async cancel(id: string): Promise<void> {
    const own = this.#jobs.find(id);
    if (own) own.job.cancel();
    else await this.#ask({ kind: 'replay-cancel', replay: id });
  }

  /** Answers a question of another node. @throws ServiceError `not-found` */
  async answer({ kind, replay }: Extract<Question, { kind: ReplayQuestion }>): Promise<Reply<ReplayQuestion>> {
    if (kind === 'replay-results') {
      const results = this.#ownResults(replay);
      if (results === undefined) throw notFound('');
      return results;
    }
    const own = this.#jobs.find(replay);
    if (!own) throw notFound('');
    own.job.cancel();
    await this.#installation.tell();
    return null;
  }

  /** Results are kept in memory only. The view of an earlier replay says that all of them are left out. */
  #ownResults(id: string): string | undefined {
    return this.#jobs.find(id)?.job.results.text ?? (this.#past.replays.some((past) => past.id === id) ? '' : undefined);
  }

  async #ask<Kind extends ReplayQuestion>(request: Request<Kind> & { replay: string }): Promise<Reply<Kind>> {
    const { node, uuid, isGone } = await this.#findOwner(request.replay);
    const answer = isGone ? undefined : (await this.#installation.ask([uuid], request, answerWithinMs)).get(uuid);
    if (!answer) throw new ServiceError('unavailable', `The node ${node}, which runs this replay, does not answer.`);
    if ('refused' in answer) throw new ServiceError(answer.refused.code, answer.refused.message);
    return answer.reply;
  }

  async #findOwner(id: string): Promise<NamedNode> {
    const { nodes, incomplete } = await this.#installation.others();
    const owner = nodes.find(({ report }) => report.replays.some((replay) => replay.id === id));
    if (!owner) throw notFound(incomplete);
    return owner;
  }
}

export type OwnReplay = Omit<ReplayView, 'node'>;

/** The replays before the last start, without their results. They are in `last-replays.json` in the data folder. */
class PastReplays {
  readonly replays: readonly OwnReplay[];
  readonly #jobs: ReplayJobs;
  readonly #path: string;
  readonly #log: Log;
  readonly #writes = new SharedRuns(() => this.#write());

  /** @param jobs the replays of this process, which the file gets, too */
  constructor(jobs: ReplayJobs, dataFolderPath: string, log: Log) {
    this.#jobs = jobs;
    this.#path = join(dataFolderPath, 'last-replays.json');
    this.#log = log;
    this.replays = this.#read();
  }

  /** Returns the replays of this process, newest first, and then the earlier ones. */
  all(): OwnReplay[] {
    return [...this.#jobs.list().map(jobView), ...this.replays];
  }

  /** Writes the file. Never throws, because a replay does not need it. */
  async keep(): Promise<void> {
    await this.#writes.run().catch((reason) => this.#log.warn('the replays could not be written', { path: this.#path, reason }));
  }

  async #write(): Promise<void> {
    if (this.#jobs.list().length === 0) return;
    const all = this.all()
      .filter(({ count_only }) => !count_only)
      .slice(0, maxEnded);
    await writeFileAtomically(this.#path, `${JSON.stringify({ replays: all })}\n`, { mode: 0o600 });
  }

  #read(): OwnReplay[] {
    try {
      const text = readTextIfThere(this.#path);
      if (text === undefined) return [];
      const { replays } = JSON.parse(text) as { replays: unknown[] };
      return replays.map((one) => ofEarlierProcess(replay.parse(one)));
    } catch (reason) {
      this.#log.warn('the earlier replays cannot be read', { path: this.#path, reason });
      return [];
    }
  }
}

function ofEarlierProcess(past: OwnReplay): OwnReplay {
  const left = { results_left_out: past.done, seconds_left: null };
  if (past.state !== 'waiting' && past.state !== 'running') return { ...past, ...left };
  return { ...past, ...left, state: 'failed', details: 'The service stopped before the replay ended.' };
}

/** Returns a replay of this node in the form that consoles show. */
function jobView({ id, created, by, job }: ListedJob): OwnReplay {
  const { request, progress, results, secondsLeft } = job;
  const { details, ...rest } = progress;
  return {
    id,
    created,
    administrator: by,
    dry_run: request.isDryRun,
    count_only: request.countsOnly,
    ...rest,
    handlers: rest.handler_uuids.length,
    details: details ?? '',
    results_left_out: results.leftOut,
    seconds_left: secondsLeft,
  };
}

function notFound(incomplete: string): ServiceError {
  if (incomplete !== '') return new ServiceError('unavailable', `The other nodes cannot be asked for the replay: ${incomplete}`);
  return new ServiceError('not-found', 'There is no such replay, or it is no longer remembered.');
}
