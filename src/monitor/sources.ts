import type { MetricObject } from 'prom-client';

/** The sources of the figures and of `/ready`. */
export interface MonitorSources {
  /** Checks the conditions for serving requests. Each result is true, or a description of the fault. */
  checks(): Promise<Record<string, true | string>>;
  services(): Promise<ServiceFigures[]>;
  /** Returns when the certificates in use expire, for services with TLS. */
  certificates(): { service: string; daysLeft: number }[];
  handlers(): Promise<HandlerFigures[]>;
  /** Returns the states of expectations; an empty list if another process reports on expectations. */
  expectations(): { expectation: string; state: string; overdueS: number }[];
  /** Returns the number of URLs that are suspended now, by the method or handler to which they belong. */
  suspendedUrls(): Promise<{ kind: 'authentication' | 'event-handler'; uuid: string; count: number }[]>;
  journalBytes(): Promise<number>;
  /** Returns the number of held uploads by state, and the age of the oldest held upload in seconds. */
  held(): Promise<{ held: number; inspecting: number; oldestS: number }>;
  /** Returns the hash of the current configuration. */
  configHash(): string;
  /** Returns figures about the shared state; undefined for a single node. */
  shared(): Promise<SharedFigures | undefined>;
  /** Returns the figures of all nodes that were started together, including this one; undefined if there is only one node. */
  nodes?: (() => Promise<MetricFigures[]>) | undefined;
}

/** Figures about the state that nodes share. */
export interface SharedFigures {
  isUp: boolean;
  /** Number of events that this node has in files, but that are not in the shared journal yet. */
  eventsNotForwarded: number;
  /** Memory, in bytes, that the shared journal uses in Redis; undefined while Redis is unreachable. */
  streamBytes: number | undefined;
  /** Number of values in Redis that this process could not read. */
  unreadableValues: number;
}

/** The traffic at the address of a service. */
export interface ServiceTraffic {
  connections: number;
  receivedBytes: number;
  sentBytes: number;
  /** Number of HTTP or SFTP requests so far. */
  requests: number;
}

/** One file transfer service. */
export interface ServiceFigures extends ServiceTraffic {
  service: string;
  protocol: 'http' | 'ssh';
  sessions: number;
}

/** Figures about one event handler. */
export interface HandlerFigures {
  handler: string;
  /** Whether the handler delivers events, on this node or on another node that has the handler's lease. */
  isRunning: boolean;
  /** Whether an administrator paused the handler. */
  isPaused: boolean;
  /** Whether this node delivers the handler's events; undefined for a single node. */
  hasLease: boolean | undefined;
  /** Number of events in the journal that the handler has neither delivered nor filtered out. */
  waitingEvents: number;
  /** Age of the oldest waiting event in seconds; 0 if none is waiting. */
  oldestWaitingS: number;
  /** Age of these figures in seconds. It grows while Redis is unreachable. Undefined for a single node. */
  ageS: number | undefined;
}

/** All figures of one process, in a form that can be sent in a message. */
export type MetricFigures = Omit<MetricObject, 'collect'>[];
