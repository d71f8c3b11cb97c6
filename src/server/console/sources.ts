import { shownGrant } from '../../auth/grants/shown-grant.ts';
import type { NodeReload } from '../../console/api/schemas/configuration.ts';
import type { NodeView, Overview } from '../../console/api/schemas/overview.ts';
import type { ConfigurationSource, ConsoleSources, DeliverySources } from '../../console/sources.ts';
import type { Counts } from '../../control/shown-node.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import { LastLogins } from '../../events/journal/search/last-logins.ts';
import { searchPage } from '../../events/journal/search/search.ts';
import { maxShown as maxTransfers } from '../../files/transfers.ts';
import type { Clock } from '../../lib/clock.ts';
import { freeBytes } from '../../lib/disk/durable-files.ts';
import type { Log } from '../../lib/log.ts';
import { OperatorGrants } from '../grant-orders.ts';
import { nothingEnded } from '../listeners.ts';
import type { ServerView } from '../monitor-sources.ts';
import { ErrorKinds, newestErrors, type RecentError } from '../monitoring.ts';
import type { Installation, NamedNode } from '../nodes/installation.ts';
import type { NodeReport } from '../nodes/node-messages.ts';
import type { ServerFile } from '../server-file.ts';
import { accountSource } from './accounts.ts';
import type { HandlerViews } from './handler-views.ts';

type NodeCounts = Pick<NodeReport, 'started' | 'counts'> & { uuid: string };

/** The sum of the counts of all visible nodes. It never decreases when a node joins, leaves or restarts. */
export class SummedCounts {
  readonly #total: Counts = { requests: 0, failures: 0, received_bytes: 0, sent_bytes: 0, events: 0, deliveries: 0, failed_deliveries: 0 };
  #before = new Map<string, NodeCounts>();

  /**
   * @param nodes the nodes that are visible now. Counts from before a node was first seen are omitted
   */
  add(nodes: readonly NodeCounts[]): Counts {
    for (const { uuid, started, counts } of nodes) {
      const before = this.#before.get(uuid);
      if (!before) continue;
      for (const name of Object.keys(this.#total) as (keyof Counts)[]) {
        const since = before.started === started ? counts[name] - before.counts[name] : counts[name];
        this.#total[name] += Math.max(since, 0);
      }
    }
    this.#before = new Map(nodes.map((node) => [node.uuid, node]));
    return { ...this.#total };
  }
}

/** Limits of the search for earlier errors. */
const limits = { events: 500, bytes: 64 * 1024 * 1024, timeMs: 1000 };

/**
 * Returns a function that finds the errors in the journal from before the oldest node started, because nodes count only later errors. The
 * function takes the time when the oldest node started, as Unix time in milliseconds. The first call starts the search in the background.
 * Each call returns the errors found so far, the newest last.
 */
function earlierErrors(journal: () => EventLog, { clock, log }: { clock: Clock; log: Log }): (untilMs: number) => readonly RecentError[] {
  let found: readonly RecentError[] | undefined;
  const search = async (untilMs: number) => {
    try {
      const selection = { id: [], uuid: [], status: ['failure' as const], until: untilMs };
      const { events } = await searchPage(journal(), selection, { limits, clock });
      const kinds = new ErrorKinds();
      for (const { event } of events.toReversed()) kinds.add(event);
      found = kinds.list();
    } catch (error) {
      log.warn('errors from before the start could not be read from the journal', { reason: error });
    }
  };
  return (untilMs) => {
    if (!found) void search(untilMs);
    found ??= [];
    return found;
  };
}

/** Time in milliseconds that other nodes have for a reload. It is long because the start of an authentication method can take long. */
const reloadWithinMs = 15_000;

/** Step, in milliseconds, to which the times `seen` of nodes are rounded, so that the text of an unchanged overview stays the same. */
const seenStepMs = 10_000;

interface Dependencies extends Pick<ConsoleSources, 'collections'> {
  clock: Clock;
  log: Log;
  dataFolderPath: string;
  installation: Installation;
  handlerViews: HandlerViews;
  deliveries: DeliverySources;
  configuration: ServerFile;
}

/** A running node and its unique name. */
type Told = Pick<NamedNode, 'node' | 'uuid' | 'report'>;

/**
 * Answers the requests of consoles.
 *
 * @param view returns the current state of the server; called only after its core is open
 */
export function consoleSources(view: () => ServerView, dependencies: Dependencies): ConsoleSources {
  const { clock, dataFolderPath, installation, handlerViews, deliveries, collections, configuration } = dependencies;
  const core = () => view().core;
  const counts = new SummedCounts();
  const findEarlierErrors = earlierErrors(() => core().journal, dependencies);
  const askNodes = async () => {
    const [others, report] = await Promise.all([installation.others(), installation.own.report()]);
    const own: Told = { node: others.ownName, uuid: installation.own.uuid, report };
    return { others, told: [own, ...others.nodes.filter(({ isGone }) => !isGone)] as [Told, ...Told[]] };
  };
  const operatorGrants = () => {
    const { grants, server, files } = core();
    return new OperatorGrants({ grants, server, files, parts: () => view().parts });
  };
  /** Counts the items that a person must look at: held uploads, and due times whose files are missing or malformed. */
  const troubles = async () => {
    const records = await core().files.held.list().catch(unknown);
    const held = records?.filter((record) => record.held.state === 'held').length ?? null;
    const missing = core().expectations.figures();
    return { held_uploads: held, missing_files: missing.reduce((sum, { misses }) => sum + misses, 0) };
  };
  return {
    deliveries,
    collections,
    accounts: accountSource(view, new LastLogins(() => core().journal, clock), clock),
    configuration: configurationSource(configuration, installation),
    grants: {
      list: async (kind, account) => (await operatorGrants().list(kind, account)).map(shownGrant),
      revoke: async (kind, ids, by) => (await operatorGrants().end(kind, ids, by)).map(({ id }) => id),
    },
    expectations: () => core().expectations,
    journal: () => core().journal,
    async overview() {
      const { others, told } = await askNodes();
      const [{ node, report }] = told;
      const [handlers, bytes, free] = await Promise.all([
        handlerViews.list(others),
        core().journal.sizeBytes().catch(unknown),
        freeBytes(dataFolderPath).catch(unknown),
      ]);
      const { name, uuid } = core().server;
      return {
        server: { name, uuid, version: report.version, node, started: report.started },
        services: named(told, 'services'),
        methods: named(told, 'methods'),
        inspections: named(told, 'inspections'),
        handlers,
        ...listTransfers(told),
        errors: newestErrors([findEarlierErrors(oldestStart(told)), named(told, 'errors')]).reverse(),
        ...(await troubles()),
        journal: { bytes, free_bytes: free },
        nodes: nodeViews(told[0], others.nodes, clock.nowMs()),
        incomplete: others.incomplete,
      };
    },
    async figures() {
      // The search for earlier errors starts together with the console, so that its result is available when an administrator asks.
      const { others, told } = await askNodes();
      findEarlierErrors(oldestStart(told));
      const sum = (name: 'connections' | 'memory_bytes') => told.reduce((total, { report }) => total + report[name], 0);
      const handlers = await handlerViews.list(others, false);
      return {
        ...counts.add(told.map(({ uuid, report }) => ({ uuid, ...report }))),
        // Nodes share their sessions, so each node reports all of them.
        sessions: told[0].report.services.reduce((total, { sessions }) => total + sessions, 0),
        connections: sum('connections'),
        memory_bytes: sum('memory_bytes'),
        waiting_events: handlers.reduce((total, { waiting_events }) => total + waiting_events, 0),
      };
    },
  };
}

function oldestStart(told: readonly Told[]): number {
  return Math.min(...told.map(({ report }) => Date.parse(report.started)));
}

// A failing disk must not hide the other figures.
const unknown = () => null;

function named<Name extends 'services' | 'methods' | 'inspections' | 'transfers' | 'errors'>(
  told: readonly Told[],
  name: Name,
): (Told['report'][Name][number] & { node: string })[] {
  return told.flatMap(({ node, report }) => report[name].map((item) => ({ ...item, node })));
}

function listTransfers(told: readonly Told[]): Pick<Overview, 'transfers' | 'transfers_left_out'> {
  const all = named(told, 'transfers').sort((a, b) => (a.started < b.started ? -1 : 1));
  const leftOut = told.reduce((total, { report }) => total + report.transfers_left_out, 0);
  return { transfers: all.slice(0, maxTransfers), transfers_left_out: leftOut + Math.max(all.length - maxTransfers, 0) };
}

function nodeViews(own: Told, others: readonly NamedNode[], nowMs: number): NodeView[] {
  return [{ ...own, ageMs: 0, isGone: false }, ...others].map(({ node, uuid, ageMs, isGone, report }) => ({
    node,
    uuid,
    phase: isGone ? 'gone' : report.phase,
    version: report.version,
    seen: new Date(Math.floor((nowMs - ageMs) / seenStepMs) * seenStepMs).toISOString(),
  }));
}

function configurationSource(file: ServerFile, installation: Installation): ConfigurationSource {
  return {
    path: () => file.path,
    running: () => file.running(),
    checked: () => file.checked(),
    async reload() {
      const others = await installation.others();
      const asked = others.nodes.filter(({ isGone }) => !isGone).map(({ uuid }) => uuid);
      const [report, answers] = await Promise.all([file.reload(), installation.ask(asked, { kind: 'reload' }, reloadWithinMs)]);
      const reloads = others.nodes.map(({ node, uuid, isGone }): NodeReload => {
        const answer = answers.get(uuid);
        if (answer && 'reply' in answer) return { ...describeReload(answer.reply), node, uuid };
        const unknown = isGone ? 'It is gone.' : `It did not answer within ${reloadWithinMs / 1000} s.`;
        return { node, uuid, reloaded: false, changes: [], ended: nothingEnded, reason: answer?.refused.message ?? unknown };
      });
      const own = { ...describeReload(report), node: others.ownName, uuid: installation.own.uuid };
      return { ...report, nodes: [own, ...reloads], incomplete: others.incomplete };
    },
  };
}

function describeReload({ reloaded, changes, ended, reason }: Omit<NodeReload, 'node' | 'uuid'>): Omit<NodeReload, 'node' | 'uuid'> {
  return { reloaded, changes, ended, reason };
}
