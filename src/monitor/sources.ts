import type { MetricObject } from 'prom-client';

/** The sources of the figures and of `/ready`. */
export interface MonitorSources {
  /** Conditions for serving requests: true, or a description of the fault. */
  checks(): Promise<Record<string, true | string>>;
  services(): Promise<ServiceFigures[]>;
  /** For services with TLS, when the certificate in use expires. */
  certificates(): { service: string; daysLeft: number }[];
  handlers(): Promise<HandlerFigures[]>;
  /** Of the process that reports expectations; the others have none. */
  expectations(): { expectation: string; state: string; overdueS: number }[];
  /** URLs that are suspended at present, by the method or handler that they belong to. */
  suspendedUrls(): Promise<{ kind: 'authentication' | 'event-handler'; uuid: string; count: number }[]>;
  journalBytes(): Promise<number>;
  /** Held uploads by state, and the age of the oldest in seconds. */
  held(): Promise<{ held: number; inspecting: number; oldestS: number }>;
  /** Hash of the configuration in force. */
  configHash(): string;
  /** Undefined for a single node. */
  shared(): Promise<SharedFigures | undefined>;
  /** The figures of all nodes that were started together, including this one; undefined without several nodes. */
  nodes?: (() => Promise<MetricFigures[]>) | undefined;
}

/** The state that nodes share. */
export interface SharedFigures {
  isUp: boolean;
  /** Events in this node's files that are not in the shared journal yet. */
  eventsNotForwarded: number;
  /** Memory of the shared journal; undefined while Redis is unreachable. */
  streamBytes: number | undefined;
  /** Values that this process found unreadable in Redis. */
  unreadableValues: number;
}

/** The traffic at the address of a service. */
export interface ServiceTraffic {
  connections: number;
  receivedBytes: number;
  sentBytes: number;
  /** Requests of HTTP, or of SFTP, so far. */
  requests: number;
}

/** One file transfer service. */
export interface ServiceFigures extends ServiceTraffic {
  service: string;
  protocol: 'http' | 'ssh';
  sessions: number;
}

/** One event handler. */
export interface HandlerFigures {
  handler: string;
  /** Whether it delivers: here, or on the node that has its lease. */
  isRunning: boolean;
  /** Whether an administrator paused it. */
  isPaused: boolean;
  /** Whether this node delivers for it; undefined for a single node. */
  hasLease: boolean | undefined;
  /** Events in the journal that it has not filtered or delivered. */
  waitingEvents: number;
  /** Age of the oldest of them, in seconds; 0 when none waits. */
  oldestWaitingS: number;
  /** Age of these figures in seconds, because Redis may be unreachable; undefined for a single node. */
  ageS: number | undefined;
}

/** All figures of one process, as a message can carry them. */
export type MetricFigures = Omit<MetricObject, 'collect'>[];
