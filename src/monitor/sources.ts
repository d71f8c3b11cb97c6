import type { MetricObject } from 'prom-client';

/** What the figures of a scrape and the answer of `/ready` are made of. */
export interface MonitorSources {
  /** What must hold for requests to be served; a text says what does not. */
  checks(): Promise<Record<string, true | string>>;
  services(): Promise<ServiceFigures[]>;
  handlers(): Promise<HandlerFigures[]>;
  /** URLs left alone at present, by the method or handler that they belong to. */
  suspendedUrls(): Promise<{ kind: 'authentication' | 'event-handler'; uuid: string; count: number }[]>;
  journalBytes(): Promise<number>;
  /** Tells the configuration in force from others. */
  configHash(): string;
  /** What nodes share; undefined where there is one node alone. */
  shared(): Promise<SharedFigures | undefined>;
  /** Tells of the nodes that were started with this one, and keeps what this one shows; undefined where there are none. */
  nodes?: ((own: MetricFigures) => Promise<NodeFigures>) | undefined;
}

/** The state that nodes share. */
export interface SharedFigures {
  isUp: boolean;
  /** Events in this node's files that are not in the shared journal yet. */
  eventsNotForwarded: number;
  /** Memory that the shared journal takes; undefined while it cannot be asked. */
  streamBytes: number | undefined;
  /** Values that this process found unreadable in Redis. */
  unreadableValues: number;
}

/** What goes on at the address of a service. */
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
  /** Whether somebody paused it. */
  isPaused: boolean;
  /** Whether this node delivers for it; undefined where there is one node alone. */
  hasLease: boolean | undefined;
  /** Events in the journal that it has not looked at or delivered. */
  waitingEvents: number;
  /** Age of the oldest of them, in seconds; 0 when none waits. */
  oldestWaitingS: number;
  /** Age of all this, in seconds: it is the last that is known while Redis is away; undefined where there is one node alone. */
  ageS: number | undefined;
}

/** All figures of one process, as a message can carry them. */
export type MetricFigures = Omit<MetricObject, 'collect'>[];

/** What a node shows beside its own figures: those of the others that were started with it on the same addresses. */
export interface NodeFigures {
  /** How many nodes answer requests. */
  running: number;
  /** How many took the place of one that had ended. */
  restarts: number;
  /** Of each of the others, and what stays of those that are gone. */
  others: MetricFigures[];
}
