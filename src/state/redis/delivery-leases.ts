import type { LogPosition } from '../../events/journal/position.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { RedisCaller, RedisLink } from '../../lib/redis/redis-link.ts';
import { markerScript, redisNow, redisScript } from '../../lib/redis/redis-script.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import { recordStream } from './delivery-records.ts';
import { idBefore } from './journal/reader.ts';
import { journalStream } from './journal/redis-event-log.ts';
import { readGroups } from './journal/stream.ts';

/**
 * Duration of a lease in milliseconds. A handler belongs to the node that has its lease. If the node fails, another one takes over after
 * this time.
 */
export const leaseMs = 10_000;

/**
 * If Redis confirmed a lease less than this time ago, in milliseconds, the lease still belongs to its owner. This is true even if Redis has
 * lost its data since then, because nodes wait 2 s after a loss before they take leases.
 */
const confirmedForMs = 1500;

/** Interval in milliseconds at which a node tries again to renew its lease while Redis is unreachable. */
const askAgainMs = 100;

const dayMs = 86_400_000;

/** Maximum number of records that are kept in memory while Redis is unreachable. */
const maxWaiting = 10_000;

/** Calculates how many handlers each running node should have at most. */
const shareText = `${redisNow}
local function share(nodes, handlers)
  return math.ceil(handlers / math.max(redis.call('ZCOUNT', nodes, now, '+inf'), 1))
end
`;

/**
 * KEYS: own heartbeat, nodes. ARGV: server (empty if it takes no more handlers), ms. Renews the heartbeat. In `nodes`, the score of each
 * node is the time at which its heartbeat expires.
 */
const beatScript = redisScript(`${redisNow}
redis.call('SET', KEYS[1], '1', 'PX', ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if ARGV[1] == '' then return end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])`);

/*
 * KEYS: lease, epoch (a counter), nodes. ARGV: node, ms, server, handlers of the node, all handlers (0 if the node may exceed its share). A
 * lease of the same server may be replaced, because an earlier process had it, or this process abandoned it. A lease without an expiry may
 * be replaced, too, because svc did not write it. Returns false if another server has the lease, and 0 if the node already has its share.
 * Otherwise returns a token that is never used twice: when Redis is emptied, the epoch restarts, but the marker in the token changes.
 */
const acquireScript = markerScript(`${shareText}
local held = redis.call('GET', KEYS[1])
if held and redis.call('PTTL', KEYS[1]) < 0 then held = false end
if held and string.sub(held, 1, #ARGV[3]) ~= ARGV[3] then return false end
if not held and ARGV[5] ~= '0' and tonumber(ARGV[4]) >= share(KEYS[3], ARGV[5]) then return 0 end
local epoch = redis.pcall('INCR', KEYS[2])
if type(epoch) == 'table' then
  epoch = now
  redis.call('SET', KEYS[2], epoch)
end
local token = ARGV[1] .. ':' .. ARGV[#ARGV] .. ':' .. epoch
redis.call('PEXPIRE', KEYS[2], ${30 * dayMs})
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return token`);

/** KEYS: lease, nodes. ARGV: token, ms, all handlers. Returns how many handlers this node should have at most; false for a lost lease. */
const renewScript = markerScript(`${shareText}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return share(KEYS[2], ARGV[3])`);

/** KEYS: lease. ARGV: token, ms. Restores a lease that Redis lost. It runs before other nodes may request the lease. */
const repeatScript = redisScript(`
if (redis.call('GET', KEYS[1]) or ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`);

/** KEYS: lease. ARGV: token. Deletes the lease if it has this token. */
const releaseScript = redisScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/*
 * KEYS: lease, journal, records. ARGV: token, handler, ID of the last delivered event, record, ID of the oldest record to keep. A node that
 * lost the lease can still record its deliveries, but cannot move the position of the handler (fencing).
 */
const recordScript = redisScript(`
if ARGV[4] ~= '' then redis.call('XADD', KEYS[3], 'MINID', '~', ARGV[5], '*', 'record', ARGV[4]) end
if ARGV[3] == '' or redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local reply = redis.pcall('XGROUP', 'SETID', KEYS[2], ARGV[2], ARGV[3])
if reply.err then redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[2], ARGV[3], 'MKSTREAM') end
return 1`);

export interface Lease {
  readonly handler: string;
  readonly token: string;
  /** Monotonic time in milliseconds until which Redis cannot have given the lease to another node, unless Redis lost its data. */
  validUntilMs: number;
  isLost: boolean;
}

/** Manages the owner, position and records of each handler, which all nodes share. */
export class DeliveryLeases {
  readonly #link: RedisLink;
  readonly #node: string;
  /** Common prefix of the node names of this server's processes. */
  readonly #server: string;
  readonly #retentionDays: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stream: string;
  #waiting: (() => Promise<unknown>)[] = [];
  #flushing: Promise<void> | undefined;
  #hasLeft = false;
  /** The leases of this node. They are written again when Redis has lost them. */
  readonly #leases = new Set<Lease>();

  /** @param node unique to this process: its server, a dot and random hexadecimal digits */
  constructor(link: RedisLink, node: string, options: { retentionDays: number; clock: Clock; log: Log }) {
    this.#link = link;
    this.#node = node;
    this.#server = node.slice(0, node.lastIndexOf('.') + 1);
    this.#retentionDays = options.retentionDays;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#stream = journalStream(link);
    link.onRecover((caller) => this.#repeat(caller));
  }

  /**
   * Takes the lease of a handler.
   *
   * @param owned number of handlers that this node already runs
   * @param handlers number of handlers that all nodes share; 0 if this node may exceed its share
   * @returns the lease; `held` while another node has it, `beyond-share` when a node with fewer handlers should take it
   * @throws ServiceError `unavailable`
   */
  async acquire(handler: string, owned: number, handlers: number): Promise<Lease | 'held' | 'beyond-share'> {
    const askedMs = this.#clock.monotonicMs();
    const keys = [this.#leaseKey(handler), this.#link.key('epoch', handler), this.#nodesKey()];
    const token = (await this.#link.run(acquireScript, keys, [this.#node, leaseMs, this.#server, owned, handlers])) as string | 0 | null;
    if (token === null) return 'held';
    if (token === 0) return 'beyond-share';
    const lease: Lease = { handler, token, validUntilMs: askedMs + leaseMs, isLost: false };
    this.#leases.add(lease);
    return lease;
  }

  /**
   * Renews a lease.
   *
   * @returns the number of handlers that this node should have at most; undefined for a lost lease
   * @throws ServiceError `unavailable`
   */
  async renew(lease: Lease, handlers: number): Promise<number | undefined> {
    const askedMs = this.#clock.monotonicMs();
    const keys = [this.#leaseKey(lease.handler), this.#nodesKey()];
    const share = (await this.#link.run(renewScript, keys, [lease.token, leaseMs, handlers])) as number | null;
    if (share === null) {
      lease.isLost = true;
      return undefined;
    }
    lease.validUntilMs = askedMs + leaseMs;
    return share;
  }

  /**
   * Checks that this node still has the lease. Must be called before each request of the handler. Waits while Redis is unreachable.
   *
   * @param isOver aborted to end the wait
   */
  async confirm(lease: Lease, isOver: AbortSignal | undefined): Promise<boolean> {
    for (;;) {
      if (lease.isLost) return false;
      if (this.#clock.monotonicMs() < lease.validUntilMs - leaseMs + confirmedForMs) return true;
      try {
        return (await this.renew(lease, 0)) !== undefined;
      } catch {
        if (isOver?.aborted) return false;
        await this.#clock.sleep(askAgainMs, isOver).catch(() => {});
      }
    }
  }

  /** Releases a lease, so that another node can take it immediately. */
  async release(lease: Lease): Promise<void> {
    this.forget(lease);
    await this.#link.run(releaseScript, [this.#leaseKey(lease.handler)], [lease.token]);
  }

  /** Stops renewing a lease, so that it expires. */
  forget(lease: Lease): void {
    this.#leases.delete(lease);
  }

  /** Finds the server that owns each of the given handlers. Handlers without an owner are left out. */
  async owned(handlers: readonly string[]): Promise<Map<string, string>> {
    if (handlers.length === 0) return new Map();
    const found = (await this.#link.call(['MGET', ...handlers.map((handler) => this.#leaseKey(handler))])) as (string | null)[];
    return new Map(
      handlers.flatMap((handler, index) => {
        const token = found[index];
        return token ? [[handler, token.slice(0, token.lastIndexOf('.'))] as const] : [];
      }),
    );
  }

  /** Reads the positions of all handlers. Each position is stored in a consumer group. */
  positions(): Promise<Map<string, LogPosition>> {
    return readGroups(this.#link, this.#stream);
  }

  /** Moves the position of a handler if this node still has the lease. */
  save(lease: Lease, position: LogPosition): Promise<unknown> {
    return this.#write(lease.handler, lease, position, '');
  }

  /**
   * Records a delivery, and moves the position of the handler. Never throws: while Redis is unreachable, the record waits.
   *
   * @param lease undefined if an upload waits for the delivery, because such a delivery needs no lease
   */
  record(record: DeliveryRecord, lease: Lease | undefined, position: LogPosition | undefined): void {
    this.#later(() => this.#write(record.handler, lease, position, JSON.stringify(record)));
  }

  /** Records the outcome of a delivery for which an upload waits. */
  settle(handler: string, eventUuid: string, isMade: boolean): void {
    const keptMs = Math.ceil(this.#retentionDays * dayMs);
    this.#later(() => this.#link.call(['SET', this.#takenKey(handler, eventUuid), isMade ? '1' : '0', 'PX', String(keptMs)]));
  }

  /** Reads the outcome that `settle` recorded. @returns undefined while it is unknown @throws ServiceError `unavailable` */
  async settled(handler: string, eventUuid: string): Promise<boolean | undefined> {
    const value = (await this.#link.call(['GET', this.#takenKey(handler, eventUuid)])) as string | null;
    return value === null ? undefined : value === '1';
  }

  /** Renews the heartbeat of this process. It shows the other nodes that this process is alive. */
  async beat(caller: RedisCaller = this.#link): Promise<void> {
    await caller.run(beatScript, [this.#link.key('node', this.#node), this.#nodesKey()], [this.#hasLeft ? '' : this.#server, leaseMs]);
  }

  /** Stops taking handlers. The node still counts as alive for its remaining work. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#link.call(['ZREM', this.#nodesKey(), this.#server]);
  }

  async isAlive(node: string): Promise<boolean> {
    return (await this.#link.call(['EXISTS', this.#link.key('node', node)])) === 1;
  }

  /** Writes the waiting records in order. Resolves when none is left, or when Redis is unreachable. */
  async flush(): Promise<void> {
    if (this.#waiting.length > 0 && this.#link.isReady) this.#flushing ??= this.#flushNow();
    await this.#flushing;
  }

  async #repeat(caller: RedisCaller): Promise<void> {
    await this.beat(caller);
    for (const lease of this.#leases) {
      const askedMs = this.#clock.monotonicMs();
      if (lease.isLost || askedMs >= lease.validUntilMs) {
        this.#leases.delete(lease);
        continue;
      }
      const keys = [this.#leaseKey(lease.handler)];
      if ((await caller.run(repeatScript, keys, [lease.token, leaseMs])) === 1) lease.validUntilMs = askedMs + leaseMs;
    }
  }

  async #flushNow(): Promise<void> {
    try {
      for (let next = this.#waiting[0]; next && this.#link.isReady; next = this.#waiting[0]) {
        await next();
        this.#waiting.shift();
      }
    } catch (error) {
      this.#log.debug('records of deliveries wait for Redis', { waiting: this.#waiting.length, reason: error });
    } finally {
      this.#flushing = undefined;
    }
  }

  #later(write: () => Promise<unknown>): void {
    this.#waiting.push(write);
    if (this.#waiting.length > maxWaiting) {
      this.#waiting = this.#waiting.slice(1);
      this.#log.error('a record of a delivery was lost: Redis has been unreachable for too long');
    }
    void this.flush();
  }

  #write(handler: string, lease: Lease | undefined, position: LogPosition | undefined, record: string): Promise<unknown> {
    const oldest = Math.floor(this.#clock.nowMs() - this.#retentionDays * dayMs);
    return this.#link.run(
      recordScript,
      [this.#leaseKey(handler), this.#stream, recordStream(this.#link, 'deliveries')],
      [lease?.token ?? '', handler, lease && position ? idBefore(position) : '', record, Math.max(oldest, 0)],
    );
  }

  #leaseKey(handler: string): string {
    return this.#link.key('lease', handler);
  }

  #nodesKey(): string {
    return this.#link.key('nodes');
  }

  #takenKey(handler: string, eventUuid: string): string {
    return this.#link.key('taken', handler, eventUuid);
  }
}
