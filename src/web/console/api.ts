// What the console's API answers, as far as the pages show it (GET /api/openapi.json has all of it).

/** A service that listens. */
export interface ServiceItem {
  uuid: string;
  type: string;
  name: string;
  url: string;
  node?: string;
  connections: number;
  sessions: number;
}

/** A method of authentication. */
export interface MethodItem {
  node?: string;
  uuid: string;
  name: string;
  type: string;
  state: string;
  reason?: string | null;
}

/** An event handler. */
export interface HandlerItem {
  uuid: string;
  name: string;
  enabled: boolean;
  state: string;
  reason: string;
  waiting_events: number;
  oldest_waiting_seconds: number;
  rate_per_minute: number;
  suspended_urls: { url: string; until: string }[];
  node?: string | null;
}

/** A file that is being sent or received. */
export interface TransferItem {
  id: string;
  node?: string;
  service: string;
  account: string;
  path: string;
  direction: string;
  bytes: number;
  total_bytes?: number | null;
  bytes_per_second: number;
  started: string;
}

/** What the overview shows. */
export interface Overview {
  server: { name: string; uuid: string; version: string; node?: string; started: string };
  services: ServiceItem[];
  methods: MethodItem[];
  handlers?: HandlerItem[];
  transfers?: TransferItem[];
  transfers_left_out?: number;
  errors: { time: string; id: string | number; uuid: string; message: string; node?: string }[];
  journal: { bytes: number | null; free_bytes?: number | null };
  nodes?: { node: string; uuid: string; phase: string; version?: string; seen: string }[];
  /** Why the other nodes cannot be seen; empty when they can. */
  incomplete?: string;
}

/** Figures of ten seconds. */
export interface Sample {
  time: string;
  requests: number;
  failures: number;
  received_bytes: number;
  sent_bytes: number;
  events: number;
  deliveries: number;
  failed_deliveries: number;
  sessions: number;
  connections: number;
  memory_bytes: number;
  waiting_events: number;
}

/** An event as it stands in the journal. */
export interface EventItem {
  id: string;
  uuid: string;
  message: string;
  timestamp: { timestamp: string; cwa_14051: string };
  data: Record<string, unknown>;
  account: { uuid: string; name: string; peer?: { address?: string } };
  component: { uuid: string; type: string; name: string };
  server: { uuid: string; type: string; name: string };
}

/** One request of a delivery. */
export interface AttemptItem {
  url: string;
  time: string;
  duration_ms: number;
  status?: number;
  reason?: string;
  error?: string;
}

/** What was sent to a handler. */
export interface DeliveryItem {
  id: string;
  time: string;
  handler: string;
  outcome: string;
  events: { id: string; uuid: string }[];
  attempts: AttemptItem[];
  details: string;
  source: string;
}
