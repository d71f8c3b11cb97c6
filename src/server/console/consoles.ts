import type { PasswordVerifier } from '../../accounts/passwords.ts';
import type { AddressBans } from '../../auth/ban-list.ts';
import type { Collections } from '../../control/collection.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { ReplayJobs } from '../../webhooks/replay/replay-jobs.ts';
import type { Core } from '../core.ts';
import type { Announce } from '../listeners.ts';
import type { ServerView } from '../monitor-sources.ts';
import { Installation, type NodeLink } from '../nodes/installation.ts';
import { ownReport } from '../nodes/own-report.ts';
import type { ServerFile } from '../server-file.ts';
import type { TallyFigures } from '../tally.ts';
import { ConsoleServices } from './console-services.ts';
import { deliverySources } from './deliveries.ts';
import { HandlerViews } from './handler-views.ts';
import { consoleSources } from './sources.ts';

/** What consoles have of a server, beside what a `ServerView` has. */
interface Dependencies {
  dataFolder: { path: string; serverUuid(): string };
  core: Core;
  /** The way to other nodes. */
  nodes: NodeLink | undefined;
  /** What this process counted. */
  tally: () => TallyFigures;
  /** All services, whoever answers for them. */
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
 * The consoles of a server, none started; where there are several nodes this one begins to tell of itself, and to answer the others' consoles.
 *
 * @param view the server as it is now; not asked before this function has returned
 */
export function makeConsoles(view: () => ServerView, dependencies: Dependencies): ConsoleServices {
  const { clock, log, file, dataFolder, core, nodes, ...rest } = dependencies;
  const { server, events } = core;
  const started = new Date(clock.nowMs()).toISOString();
  const jobs = new ReplayJobs();
  const handlerViews = new HandlerViews(view, clock);
  const installation = new Installation(
    {
      uuid: dataFolder.serverUuid(),
      name: server.name,
      report: () => ownReport(view(), { ...dependencies, started, jobs }),
      answer: async (question) => (question.kind === 'reload' ? file.reload() : deliveries.replays.answer(question)),
    },
    nodes,
    log,
  );
  const deliveries = deliverySources(view, { jobs, handlerViews, installation, clock });
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
    await installation.end();
  };
  return new ConsoleServices({ ...rest, sources, events, clock, log, stop });
}
