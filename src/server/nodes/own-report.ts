import { hostname } from 'node:os';
import type { Counts } from '../../control/shown-node.ts';
import type { ShownTransfer } from '../../files/transfers.ts';
import type { Failure, Fault } from '../../lib/remote/remote-endpoint.ts';
import type { ServiceFigures } from '../../monitor/sources.ts';
import type { OwnReplay } from '../console/replays.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { TallyFigures } from '../monitoring.ts';
import { methodFaults } from '../parts.ts';
import type { NodeReport } from './node-messages.ts';

interface Dependencies {
  /** Start time of the process, in ISO 8601 and UTC. */
  started: string;
  tally: () => TallyFigures;
  /** Returns all services of this process. */
  listening: () => { uuid: string; name: string; url: string }[];
  /** The replays of this node. */
  replays: readonly OwnReplay[];
}

const disabled: Failure = { message: 'It is disabled in the configuration.', fault: { code: 'disabled', value: '' } };

/** Returns the current state of this node. */
export async function ownReport(view: ServerView, { started, tally, listening, replays }: Dependencies): Promise<NodeReport> {
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
    counts: countAll(services, counted),
    connections: sumFigures(services, 'connections'),
    memory_bytes: process.memoryUsage.rss(),
    services: describeServices(view, listening(), services),
    methods: describeMethods(view),
    inspections: describeInspections(view),
    transfers: transfers.shown.map(shownTransfer),
    transfers_left_out: transfers.leftOut,
    errors: counted.errors,
    replays: [...replays],
  };
}

function describeMethods({ parts, config }: ServerView): NodeReport['methods'] {
  const faults = methodFaults(parts);
  return [...parts.methods.values()].map(({ uuid, name, type, state }) => {
    const isDisabled = config.authentications[uuid]?.enabled === false;
    return {
      uuid,
      name,
      type,
      state: isDisabled ? 'disabled' : state,
      ...told(isDisabled ? disabled : faults[uuid]),
    };
  });
}

function describeInspections({ core, config }: ServerView): NodeReport['inspections'] {
  const { faults } = core.files.held.inspections;
  return Object.entries(config.inspections).map(([uuid, { name = '', type, enabled }]) => {
    const fault = faults[uuid];
    if (!enabled) return { uuid, name, type, state: 'disabled', ...told(disabled) };
    return { uuid, name, type, state: fault === undefined ? 'running' : 'failed', ...told(fault) };
  });
}

function told(failure: Failure | undefined): { reason: string; fault: Fault | null } {
  return { reason: failure?.message ?? '', fault: failure?.fault ?? null };
}

function shownTransfer({ totalBytes, bytesPerSecond, startedMs, ...transfer }: ShownTransfer): NodeReport['transfers'][number] {
  const started = new Date(startedMs).toISOString();
  return { ...transfer, total_bytes: totalBytes ?? null, bytes_per_second: Math.round(bytesPerSecond), started };
}

function countAll(services: readonly ServiceFigures[], { failures, events, deliveries, failedDeliveries }: TallyFigures): Counts {
  return {
    requests: sumFigures(services, 'requests'),
    failures,
    received_bytes: sumFigures(services, 'receivedBytes'),
    sent_bytes: sumFigures(services, 'sentBytes'),
    events,
    deliveries,
    failed_deliveries: failedDeliveries,
  };
}

function sumFigures(services: readonly ServiceFigures[], name: 'requests' | 'receivedBytes' | 'sentBytes' | 'connections'): number {
  return services.reduce((total, service) => total + known(service[name]), 0);
}

function describeServices(
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

// If a store cannot be reached, its figure is NaN, which a report cannot contain.
function known(figure: number): number {
  return Number.isNaN(figure) ? 0 : figure;
}
