/** Members that the `data` of many events begins with, such as the paths of one file. Their JSON is made once. */
export class SharedMembers {
  readonly members: Readonly<Record<string, unknown>>;
  #json: string | undefined;

  /** @param members at least one; none is undefined, and they must not change afterwards */
  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members;
  }

  /** The JSON of an object with these members and then `others`, which have other names, byte for byte that of `JSON.stringify`. */
  jsonWith(others: Readonly<Record<string, unknown>>): string {
    this.#json ??= JSON.stringify(this.members).slice(0, -1);
    const json = JSON.stringify(others);
    return json === '{}' ? `${this.#json}}` : `${this.#json},${json.slice(1)}`;
  }
}

/** Address family and protocol of a peer, as docs/spec/events.md#account writes them. */
export interface EventPeer {
  /** IPv4 or IPv6 address text; IPv4-mapped IPv6 addresses are written as IPv4. */
  address: string;
  /** TCP port, 0 when unknown. */
  port: number;
  protocol: 'TCP' | 'UDP';
  family: 'IPv4' | 'IPv6';
}

/** The account that an event is about (docs/spec/events.md#account). */
export interface EventAccount {
  uuid: string;
  name: string;
  email?: string;
  /** (name, e-mail) pairs; the name is empty where none is given. */
  emails?: [string, string][];
  token?: string;
  peer: EventPeer;
}

/** The part of the service that emitted an event (docs/spec/events.md#event-object). */
export interface EventComponent {
  uuid: string;
  type: string;
  name: string;
}

export type EventServer = EventComponent;

/** One event exactly as it stands in the journal and in `events` of a request body (docs/spec/events.md#event-object). */
export interface ServiceEvent {
  id: string;
  uuid: string;
  message: string;
  timestamp: { timestamp: string; cwa_14051: string };
  data: Record<string, unknown>;
  account: EventAccount;
  component: EventComponent;
  server: EventServer;
}

/** Identifies a request across logs, events, replies and other servers. */
export interface RequestTrace {
  /** The `X-Request-Id` of the client or its proxy when it is well-formed, else one generated here. */
  readonly id: string;
  /** The client's `traceparent` (W3C Trace Context), when it sent a valid one. */
  readonly traceparent?: string;
}

/** Who an event is about and which component saw it; the same for all events of one request. */
export interface EventContext {
  account: EventAccount;
  component: EventComponent;
  /** The group of the account, for `user_groups` filters of handlers; not part of the event object (docs/spec/events.md#event-object). */
  group?: string;
  /** ID of the token or link that the client used; becomes `data.token` or `data.link`. */
  token?: string | undefined;
  link?: string | undefined;
  /** The request that led to the event; becomes `data.request_id` and `data.traceparent`. */
  request?: RequestTrace | undefined;
}

/** An event as a module hands it to the dispatcher, which adds uuid, time and server. */
export interface EventDraft {
  id: number;
  context: EventContext;
  /** The members that `data` begins with. */
  shared?: SharedMembers | undefined;
  /** Members of `data`; undefined members are left out. */
  data?: Record<string, unknown>;
  /** Replaces the catalogue's message. */
  message?: string;
  /** UUID of the event, where it has to be known before it is emitted. */
  uuid?: string;
}
