/**
 * Members of `data` that several events share, such as the paths of a file. They come first in `data`, and their JSON is created only once.
 */
export class SharedMembers {
  readonly members: Readonly<Record<string, unknown>>;
  #json: string | undefined;

  /** @param members at least one member. None may be undefined, and they must not change later */
  constructor(members: Readonly<Record<string, unknown>>) {
    this.members = members;
  }

  /** Returns the JSON of an object with these members, followed by `others`, as `JSON.stringify` writes it. No name may be in both. */
  jsonWith(others: Readonly<Record<string, unknown>>): string {
    this.#json ??= JSON.stringify(this.members).slice(0, -1);
    const json = JSON.stringify(others);
    return json === '{}' ? `${this.#json}}` : `${this.#json},${json.slice(1)}`;
  }
}

/** The peer of a connection (docs/spec/events.md#account). */
export interface EventPeer {
  /** IPv4 or IPv6 address. IPv4-mapped IPv6 addresses are written as IPv4. */
  address: string;
  /** TCP port; 0 if it is unknown. */
  port: number;
  protocol: 'TCP' | 'UDP';
  family: 'IPv4' | 'IPv6';
}

/** The account that an event is about (docs/spec/events.md#account). */
export interface EventAccount {
  uuid: string;
  name: string;
  email?: string;
  /** Pairs of name and e-mail address. The name is empty if none is given. */
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

/** One event, in the form of the journal and of `events` in a request body (docs/spec/events.md#event-object). */
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
  /** The `X-Request-Id` of the client or its proxy if it is well-formed; otherwise a generated ID. */
  readonly id: string;
  /** The client's `traceparent` (W3C Trace Context), if it sent a valid one. */
  readonly traceparent?: string;
}

/** The account that an event is about, and the component that emits the event. All events of a request have the same context. */
export interface EventContext {
  account: EventAccount;
  component: EventComponent;
  /**
   * The group of the account, for `user_groups` filters of handlers. It is not part of the event object (docs/spec/events.md#event-object).
   */
  group?: string;
  /** ID of the token that the client used. It becomes `data.token`. */
  token?: string | undefined;
  /** ID of the shared link that the client used. It becomes `data.link`. */
  link?: string | undefined;
  /** The request that led to the event. It becomes `data.request_id` and `data.traceparent`. */
  request?: RequestTrace | undefined;
}

/** An event before the dispatcher adds its UUID, time and server. */
export interface EventDraft {
  id: number;
  context: EventContext;
  /** The first members of `data`. */
  shared?: SharedMembers | undefined;
  data?: Record<string, unknown>;
  /** Replaces the catalogue's message. */
  message?: string;
  /** UUID of the event, if it has to be known before the event is emitted. */
  uuid?: string;
}
