import { eventCatalogue } from '../events/catalogue.ts';
import type { ServiceEvent } from '../events/event.ts';

/** Errors that are remembered. */
export const maxErrors = 20;

/** An event of the group `failure`, as consoles show it. */
export interface RecentError {
  time: string;
  id: string;
  uuid: string;
  message: string;
  /** The name of the server. */
  node: string;
}

/** What one process counted since its start. */
export interface TallyFigures {
  events: number;
  failures: number;
  deliveries: number;
  failedDeliveries: number;
  /** The newest last. */
  errors: RecentError[];
}

const failures = new Set(eventCatalogue.filter(({ groups }) => groups.includes('failure')).map(({ id }) => String(id)));

/** Counts what consoles show: so little for each event that it is always done. */
export class Tally {
  readonly figures: TallyFigures = noTally();

  event(event: ServiceEvent): void {
    this.figures.events++;
    if (!failures.has(event.id)) return;
    this.figures.failures++;
    const { errors } = this.figures;
    errors.push(recentError(event));
    if (errors.length > maxErrors) errors.shift();
  }

  delivery({ outcome }: { outcome: string }): void {
    this.figures.deliveries++;
    if (outcome === 'failed') this.figures.failedDeliveries++;
  }
}

/** An event of a failure, as overviews list it. */
export function recentError({ id, uuid, message, timestamp, server }: ServiceEvent): RecentError {
  return { time: new Date(Number(timestamp.timestamp) * 1000).toISOString(), id, uuid, message, node: server.name };
}

/** The newest of several lists, each once; the newest last, those of one moment in the order of their list. */
export function newestErrors(lists: readonly (readonly RecentError[])[]): RecentError[] {
  const all = new Map(lists.flat().map((error) => [error.uuid, error]));
  return [...all.values()].sort((a, b) => Number(a.time > b.time) - Number(a.time < b.time)).slice(-maxErrors);
}

/** The figures of a process that has counted nothing yet. */
function noTally(): TallyFigures {
  return { events: 0, failures: 0, deliveries: 0, failedDeliveries: 0, errors: [] };
}
