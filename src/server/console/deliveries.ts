import type { DeliverySources } from '../../console/sources.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { sendTest } from '../../webhooks/replay/replay-handlers.ts';
import type { ReplayJobs } from '../../webhooks/replay/replay-jobs.ts';
import type { Core } from '../core.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { Installation } from '../nodes/installation.ts';
import type { HandlerViews } from './handler-views.ts';
import { ConsoleReplays } from './replays.ts';

/** What consoles ask about deliveries, beside what a `ServerView` has. */
interface Dependencies {
  /** The replays of this node. */
  jobs: ReplayJobs;
  handlerViews: HandlerViews;
  installation: Installation;
  clock: Clock;
}

/**
 * What consoles ask a server of deliveries, replays and event handlers.
 *
 * @param view the server as it is now; asked once its core is open
 */
export function deliverySources(
  view: () => ServerView,
  { jobs, handlerViews, installation, clock }: Dependencies,
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
  const jobDependencies = () => ({ journal: journal(), openReplayLog, server: core().server, clock });
  return {
    replays: new ConsoleReplays(jobs, jobDependencies, installation),
    get records() {
      return core().records;
    },
    shown: () => ({ journal: journal(), server: core().server }),
    control: () => core().deliveries,
    async handlers() {
      const others = await installation.others();
      return { handlers: await handlerViews.list(others), incomplete: others.incomplete };
    },
    sendTest(uuid, by) {
      const handlers = view().config.event_handlers;
      const options = Object.hasOwn(handlers, uuid) ? handlers[uuid] : undefined;
      if (!options) throw new ServiceError('not-found', `There is no event handler "${uuid}".`);
      return sendTest(uuid, options, by, { events: core().events, openReplayLog, server: core().server, clock });
    },
  };
}
