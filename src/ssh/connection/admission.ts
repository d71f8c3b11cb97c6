import { isIPv6, type Socket } from 'node:net';
import type { Account } from '../../accounts/account.ts';
import { loginSource, type Refusal, refusalData } from '../../auth/ban-list.ts';
import type { Identity } from '../../auth/credentials.ts';
import type { Session } from '../../auth/sessions.ts';
import type { EventPeer } from '../../events/event.ts';
import { peerAt } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import { isServiceError } from '../../lib/errors.ts';
import { normaliseAddress } from '../../lib/headers/forwarded-header.ts';
import type { ThrottledCount } from '../../lib/rate-meter.ts';
import { type ConnectionOrigin, eventContext, type SshService } from '../ssh-service.ts';

/** Interval, in milliseconds, between two checks of a session that is not stored in memory. */
const remoteCheckMs = 5000;

/** The session of an SSH login. The session counts as busy while the connection is open, and ends with the connection. */
export class ConnectionSession {
  readonly #service: SshService;
  readonly #id: string;
  readonly #session: Session;
  readonly #hold: { done(): void };
  #nextCheckMs = 0;

  private constructor(service: SshService, id: string, session: Session) {
    this.#service = service;
    this.#id = id;
    this.#session = session;
    this.#hold = service.sessions.hold(session);
  }

  /** Begins a session unless the account has reached its limit. @returns the session, or the reason for the refusal */
  static async begin(
    service: SshService,
    identity: Identity,
    { address, client }: { address: string; client: string },
  ): Promise<ConnectionSession | 'too-many' | 'ended'> {
    const most = service.options.maximum_sessions_per_account;
    const id = await service.sessions.createForConnection(identity, address, most, client);
    if (id === undefined) return 'too-many';
    const session = await service.sessions.find(id);
    return session ? new ConnectionSession(service, id, session) : 'ended';
  }

  /**
   * Checks whether the session was ended elsewhere.
   *
   * @param nowMs monotonic time
   * @param onEnd called if the session was ended; the call can come after this method has returned
   */
  check(nowMs: number, onEnd: () => void): void {
    if (nowMs < this.#nextCheckMs) return;
    const found = this.#service.sessions.find(this.#id);
    if (!(found instanceof Promise)) {
      if (!found) onEnd();
      return;
    }
    this.#nextCheckMs = nowMs + remoteCheckMs;
    // The session counts as valid while the store does not answer.
    found.then(
      (session) => session ?? onEnd(),
      () => {},
    );
  }

  end(): void {
    this.#hold.done();
    const { sessions, log } = this.#service;
    sessions.end(this.#session).catch((error) => log.warn('a session could not be ended', { reason: error }));
  }
}

/** Limits by name. Each has the maximum number of connections, and the message for a connection above it. */
type Limits = Readonly<Record<string, readonly [max: number, refusal: string]>>;

/** The slots that one connection occupies. With several nodes, the limits apply to each node separately. */
export class ConnectionSlots {
  readonly #service: SshService;
  /**
   * Names of the limits that count this connection. The first limit counts the connection until the connection ends, the others only until
   * the client has logged in.
   */
  #taken: string[] = [];
  #hasLeft = false;

  constructor(service: SshService) {
    this.#service = service;
  }

  /** Takes a slot among all connections, and one among those that are not logged in. @returns the reason for a refusal, or undefined */
  enter(): Promise<string | undefined> {
    const { uuid, options } = this.#service;
    return this.#take({
      [`connections ${uuid}`]: [options.maximum_concurrent_connections, 'Too many connections.'],
      [`before login ${uuid}`]: [options.maximum_unauthenticated_connections, 'Too many connections that have not logged in.'],
    });
  }

  /** Takes a slot among the connections of one address that are not logged in. @returns the reason for a refusal, or undefined */
  enterFrom(address: string): Promise<string | undefined> {
    const { uuid, options } = this.#service;
    const max = options.maximum_unauthenticated_connections_per_address;
    const refusal = 'Too many connections of this address that have not logged in.';
    return this.#take({ [`before login ${uuid} ${loginSource(address)}`]: [max, refusal] });
  }

  /** Frees the slots that count only before login. */
  loggedIn(): void {
    this.#free(this.#taken.splice(1));
  }

  /** Frees all slots, because the connection ended. */
  leave(): void {
    this.#hasLeft = true;
    this.#free(this.#taken.splice(0));
  }

  async #take(limits: Limits): Promise<string | undefined> {
    const names = Object.keys(limits);
    const full = await this.#service.slots.take(Object.entries(limits).map(([name, [max]]) => [name, max]));
    if (full !== undefined) return limits[full]?.[1];
    if (this.#hasLeft) this.#free(names);
    else this.#taken.push(...names);
    return undefined;
  }

  #free(names: readonly string[]): void {
    if (names.length > 0) this.#service.slots.free(names);
  }
}

/** The first bytes of a PROXY protocol header, version 2 (haproxy, doc/proxy-protocol.txt §2.2). */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedBytes = 16;

/** Maximum size in bytes of the rest of a PROXY protocol header. The rest contains addresses, and fields that proxies add. */
const maxBytes = 4096;

/**
 * Reads the PROXY protocol header, version 2, with which a proxy's connection begins. Later bytes stay in the socket.
 *
 * @returns undefined for connections of the proxy itself (health checks) and for clients without an IP address
 * @throws Error if the connection does not begin with such a header or ends within it
 */
async function readProxyHeader(socket: Socket): Promise<{ address: string; port: number } | undefined> {
  const fixed = await readBytes(socket, fixedBytes);
  if (!fixed.subarray(0, signature.length).equals(signature)) throw new Error('it does not begin with a PROXY header of version 2');
  const [versionAndCommand = 0, familyAndProtocol = 0] = fixed.subarray(12);
  const length = fixed.readUInt16BE(14);
  if (versionAndCommand >> 4 !== 2 || (versionAndCommand & 15) > 1 || length > maxBytes) throw new Error('its PROXY header is malformed');
  const rest = length === 0 ? Buffer.alloc(0) : await readBytes(socket, length);
  if ((versionAndCommand & 15) === 0) return undefined;
  if (familyAndProtocol === 0x11 && length >= 12) return { address: [...rest.subarray(0, 4)].join('.'), port: rest.readUInt16BE(8) };
  if (familyAndProtocol === 0x21 && length >= 36) return { address: ipv6Text(rest.subarray(0, 16)), port: rest.readUInt16BE(32) };
  return undefined;
}

function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
  // The URL parser formats IPv6 addresses as RFC 5952 requires.
  const text = new URL(`http://[${groups}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text);
  if (mapped) return [...bytes.subarray(12)].join('.');
  return isIPv6(text) ? normaliseAddress(text) : text;
}

function readBytes(socket: Socket, count: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (action: () => void) => {
      socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
      action();
    };
    const onEnd = () => finish(() => reject(new Error('it ended within the PROXY header')));
    const onReadable = () => {
      const bytes: Buffer | null = socket.read(count);
      if (bytes?.length === count) finish(() => resolve(bytes));
      else if (bytes !== null) onEnd();
    };
    socket.on('readable', onReadable).on('end', onEnd).on('close', onEnd);
    onReadable();
  });
}

/** A connection on which the SSH protocol has not started yet. */
export interface NewConnection extends ConnectionOrigin {
  /** The client. For a connection of a trusted proxy, this is the proxy until its header has been read. */
  peer: EventPeer;
  readonly slots: ConnectionSlots;
  /** Limits how often the service reports refused connections. */
  readonly refusals: ThrottledCount;
}

/**
 * Returns whether a client is admitted. Slots must be free, and the address of the client must not be banned. With `proxy_protocol`, a
 * connection of a trusted proxy must begin with a valid PROXY header.
 */
export async function isAdmitted(connection: NewConnection, socket: Socket): Promise<boolean> {
  const { service, slots } = connection;
  const hasSlot = (refusal: string | undefined) => {
    if (refusal !== undefined) reportTooMany(connection, refusal);
    return refusal === undefined;
  };
  if (!hasSlot(await slots.enter())) return false;
  if (service.options.proxy_protocol && service.isProxy(connection.peer.address) && !(await readPeer(connection, socket))) return false;
  return hasSlot(await slots.enterFrom(connection.peer.address)) && !(await isBanned(connection));
}

/** Emits `sshConnectionRefused` for a client that exceeds a connection limit. */
export function reportTooMany(connection: NewConnection, details: string, account?: Account): void {
  const refused = connection.refusals.record();
  if (refused === undefined) return;
  const context = eventContext(connection, account);
  connection.service.events.emit({ id: eventIds.sshConnectionRefused, context, data: { details, refused } });
}

/** Emits `addressRefused` for a client whose address or user name is banned. */
export function reportBanned(connection: ConnectionOrigin, refusal: Refusal, username?: string): void {
  const data = refusalData(refusal, connection.peer.address, username);
  connection.service.events.emit({ id: eventIds.addressRefused, context: eventContext(connection), data });
}

/** Reads the proxy's header and sets the client's address. @returns whether the header was valid */
async function readPeer(connection: NewConnection, socket: Socket): Promise<boolean> {
  const { log, uuid } = connection.service;
  try {
    const client = await readProxyHeader(socket);
    if (client) connection.peer = peerAt(client.address, client.port);
    return true;
  } catch (error) {
    log.warn('a connection of a proxy was refused', { service: uuid, address: connection.peer.address, reason: error });
    return false;
  }
}

/** Returns whether a client is banned. If bans cannot be looked up, the client counts as banned. */
async function isBanned(connection: ConnectionOrigin): Promise<boolean> {
  try {
    const refusal = await connection.service.bans.isRefused(loginSource(connection.peer.address));
    if (refusal) reportBanned(connection, refusal);
    return refusal !== undefined;
  } catch (error) {
    if (isServiceError(error, 'unavailable')) return true;
    throw error;
  }
}
