import type { MetricFigures } from './metric-figures.ts';

/** What the figures of a scrape and the answer of `/ready` are made of. */
export interface MonitorSources {
  /** What must hold for requests to be served; a text says what does not. */
  checks(): Promise<Record<string, true | string>>;
  services(): Promise<ServiceFigures[]>;
  handlers(): Promise<HandlerFigures[]>;
  /** URLs left alone at present, by the method or handler that they belong to. */
  suspendedUrls(): Promise<{ kind: 'authentication' | 'event-handler'; uuid: string; count: number }[]>;
  journalBytes(): Promise<number>;
  /** Processes that answer requests beside this one; undefined where there are none. */
  workers?: (() => Promise<WorkerSources>) | undefined;
}

/** The processes that answer requests for this one. */
export interface WorkerSources {
  running: number;
  /** How many took the place of one that had ended. */
  restarts: number;
  /** Figures of each, and what stays of those that are gone. */
  figures: MetricFigures[];
}

/** One file transfer service. */
export interface ServiceFigures {
  service: string;
  connections: number;
  receivedBytes: number;
  sentBytes: number;
  sessions: number;
}

/** One event handler. */
export interface HandlerFigures {
  handler: string;
  /** Whether it delivers: here, or on the node that has its lease. */
  isRunning: boolean;
  /** Events in the journal that it has not looked at or delivered. */
  waitingEvents: number;
  /** Age of the oldest of them, in seconds; 0 when none waits. */
  oldestWaitingS: number;
}
