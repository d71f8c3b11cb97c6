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

/** A handler belongs to the node that has its lease; when a node fails, another takes over once its lease has expired. */
export const leaseMs = 10_000;

/**
 * A lease that Redis confirmed within this time still belongs to its owner: after a loss of data the nodes wait for 2 s before they take
 * leases.
 */
const confirmedForMs = 1500;

/** How often a node that cannot ask for its lease tries again. */
const askAgainMs = 100;

const dayMs = 86_400_000;

/** Maximum of records that wait while Redis is away. */
const maxWaiting = 10_000;

/** A node's share of the handlers, among the nodes that live. */
const shareText = `${redisNow}
local function share(nodes, handlers)
  return math.ceil(handlers / math.max(redis.call('ZCOUNT', nodes, now, '+inf'), 1))
end
`;

/** KEYS own heartbeat, nodes; ARGV server (empty once it takes no more handlers), ms. Nodes are scored by the time until which they count as alive. */
const beatScript = redisScript(`${redisNow}
redis.call('SET', KEYS[1], '1', 'PX', ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if ARGV[1] == '' then return end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])`);

/*
 * KEYS lease, epoch, nodes; ARGV node, ms, server, handlers of the node, all handlers (0 takes more than a share). A lease of the same server
 * is that of an earlier process, or one that this process gave up. Returns a token that no other owner ever has: the marker in it changes
 * when Redis is emptied and the epoch begins again. A lease without an expiry is not ours.
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

/** KEYS lease, nodes; ARGV token, ms, all handlers. Returns the node's share of them. */
const renewScript = markerScript(`${shareText}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return share(KEYS[2], ARGV[3])`);

/** KEYS lease; ARGV token, ms. Gives a lease that Redis lost back to its owner, before others may ask for it. */
const repeatScript = redisScript(`
if (redis.call('GET', KEYS[1]) or ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`);

/** KEYS lease; ARGV token. */
const releaseScript = redisScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/*
 * KEYS lease, journal, records; ARGV token, handler, last ID done, record, oldest ID of records. A node that lost the lease may still record
 * its deliveries, but not move the position of the present owner (fencing).
 */
const recordScript = redisScript(`
if ARGV[4] ~= '' then redis.call('XADD', KEYS[3], 'MINID', '~', ARGV[5], '*', 'record', ARGV[4]) end
if ARGV[3] == '' or redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local reply = redis.pcall('XGROUP', 'SETID', KEYS[2], ARGV[2], ARGV[3])
if reply.err then redis.call('XGROUP', 'CREATE', KEYS[2], ARGV[2], ARGV[3], 'MKSTREAM') end
return 1`);

/** The right to deliver for a handler. */
export interface Lease {
  readonly handler: string;
  readonly token: string;
  /** Monotonic time before which Redis cannot have given it to another, unless it lost its data. */
  validUntilMs: number;
  /** Redis said that another node has it. */
  isLost: boolean;
}

/** The owner, the position and the records of each handler, which nodes share. */
export class DeliveryLeases {
  readonly #link: RedisLink;
  readonly #node: string;
  /** Prefix of the names of all processes of this server. */
  readonly #server: string;
  readonly #retentionDays: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stream: string;
  #waiting: (() => Promise<unknown>)[] = [];
  #flushing: Promise<void> | undefined;
  #hasLeft = false;
  /** The leases of this node: repeated to a Redis that lost them. */
  readonly #leases = new Set<Lease>();

  /** @param node unique to this process: its server, a dot and random digits */
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
   * @param owned handlers that this node already runs
   * @param handlers how many the nodes share; 0 takes more than a share
   * @returns `held` while another node has it, `beyond-share` when it is free for a node with fewer. @throws ServiceError `unavailable`
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

  /** @returns how many handlers are this node's share; undefined when the lease is not its own any more. @throws ServiceError `unavailable` */
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
   * Confirms before a request that this node may still make it; waits while Redis is away.
   *
   * @param isOver ends the waiting
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

  /** Gives a lease up at once. */
  async release(lease: Lease): Promise<void> {
    this.forget(lease);
    await this.#link.run(releaseScript, [this.#leaseKey(lease.handler)], [lease.token]);
  }

  /** Lets a lease run out. */
  forget(lease: Lease): void {
    this.#leases.delete(lease);
  }

  /** Owners of the named handlers, as the servers of their data folders; without those that nobody owns. */
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

  /** The positions of all handlers: their consumer groups. */
  positions(): Promise<Map<string, LogPosition>> {
    return readGroups(this.#link, this.#stream);
  }

  /** Moves the position of a handler, as long as the lease is this node's. */
  save(lease: Lease, position: LogPosition): Promise<unknown> {
    return this.#write(lease.handler, lease, position, '');
  }

  /**
   * Records a delivery and moves the position with it. Never throws: it waits while Redis is away.
   *
   * @param lease undefined for a delivery that an upload waits for
   */
  record(record: DeliveryRecord, lease: Lease | undefined, position: LogPosition | undefined): void {
    this.#later(() => this.#write(record.handler, lease, position, JSON.stringify(record)));
  }

  /** Records the outcome of a delivery that an upload waits for. */
  settle(handler: string, eventUuid: string, isMade: boolean): void {
    const keptMs = Math.ceil(this.#retentionDays * dayMs);
    this.#later(() => this.#link.call(['SET', this.#takenKey(handler, eventUuid), isMade ? '1' : '0', 'PX', String(keptMs)]));
  }

  /** @returns undefined while it is not known. @throws ServiceError `unavailable` */
  async settled(handler: string, eventUuid: string): Promise<boolean | undefined> {
    const value = (await this.#link.call(['GET', this.#takenKey(handler, eventUuid)])) as string | null;
    return value === null ? undefined : value === '1';
  }

  /** Tells the others that this process lives. */
  async beat(caller: RedisCaller = this.#link): Promise<void> {
    await caller.run(beatScript, [this.#link.key('node', this.#node), this.#nodesKey()], [this.#hasLeft ? '' : this.#server, leaseMs]);
  }

  /** Takes no more handlers; the node counts as alive for what it still has to do. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#link.call(['ZREM', this.#nodesKey(), this.#server]);
  }

  async isAlive(node: string): Promise<boolean> {
    return (await this.#link.call(['EXISTS', this.#link.key('node', node)])) === 1;
  }

  /** Writes what waits, in order. Resolves when nothing waits, or Redis is away. */
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
      this.#log.error('a record of a delivery was lost: Redis has been away for too long');
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
