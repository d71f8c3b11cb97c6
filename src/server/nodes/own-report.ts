import { hostname } from 'node:os';
import type { Counts } from '../../control/shown-node.ts';
import type { ShownTransfer } from '../../files/transfers.ts';
import type { ServiceFigures } from '../../monitor/sources.ts';
import type { ReplayJobs } from '../../webhooks/replay/replay-jobs.ts';
import { jobView } from '../console/replays.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { TallyFigures } from '../monitoring.ts';
import { methodFaults } from '../parts.ts';
import type { NodeReport } from './node-messages.ts';

/** What a report has beside what a `ServerView` has. */
interface Dependencies {
  /** When the process started, ISO 8601, UTC. */
  started: string;
  /** What this process counted. */
  tally: () => TallyFigures;
  /** All services, whoever answers for them. */
  listening: () => { uuid: string; name: string; url: string }[];
  /** The replays of this node. */
  jobs: ReplayJobs;
}

/** How this node is at this moment. */
export async function ownReport(view: ServerView, { started, tally, listening, jobs }: Dependencies): Promise<NodeReport> {
  const services = await view.listeners.figures();
  const { server, files } = view.core;
  const counted = tally();
  const transfers = files.transfers.list();
  return {
    name: server.name,
    host: hostname(),
    version: SVC_VERSION,
    phase: view.phase,
    started,
    counts: countsOf(services, counted),
    connections: sumOf(services, 'connections'),
    memory_bytes: process.memoryUsage.rss(),
    services: servicesOf(view, listening(), services),
    methods: methodsOf(view),
    transfers: transfers.shown.map(shownTransfer),
    transfers_left_out: transfers.leftOut,
    errors: counted.errors,
    replays: jobs.list().map(jobView),
  };
}

function methodsOf({ parts, config }: ServerView): NodeReport['methods'] {
  const faults = methodFaults(parts);
  return [...parts.methods.values()].map(({ uuid, name, type, state }) => {
    const isDisabled = config.authentications[uuid]?.enabled === false;
    return { uuid, name, type, state, reason: isDisabled ? 'It is disabled in the configuration.' : (faults[uuid] ?? '') };
  });
}

function shownTransfer({ totalBytes, bytesPerSecond, startedMs, ...transfer }: ShownTransfer): NodeReport['transfers'][number] {
  const started = new Date(startedMs).toISOString();
  return { ...transfer, total_bytes: totalBytes ?? null, bytes_per_second: Math.round(bytesPerSecond), started };
}

function countsOf(services: readonly ServiceFigures[], { failures, events, deliveries, failedDeliveries }: TallyFigures): Counts {
  return {
    requests: sumOf(services, 'requests'),
    failures,
    received_bytes: sumOf(services, 'receivedBytes'),
    sent_bytes: sumOf(services, 'sentBytes'),
    events,
    deliveries,
    failed_deliveries: failedDeliveries,
  };
}

function sumOf(services: readonly ServiceFigures[], name: 'requests' | 'receivedBytes' | 'sentBytes' | 'connections'): number {
  return services.reduce((total, service) => total + known(service[name]), 0);
}

function servicesOf(
  { config }: ServerView,
  listening: readonly { uuid: string; url: string }[],
  figures: readonly ServiceFigures[],
): NodeReport['services'] {
  return listening.map(({ uuid, url }) => {
    const { type = '', name = '' } = config.services[uuid] ?? {};
    const { connections = 0, sessions = 0 } = figures.find(({ service }) => service === uuid) ?? {};
    return { uuid, type, name: name || uuid, url, connections, sessions: known(sessions) };
  });
}

// What a store cannot tell at present is no number.
function known(figure: number): number {
  return Number.isNaN(figure) ? 0 : figure;
}
