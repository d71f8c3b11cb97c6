import type { LogPosition } from '../events/event-log-position.ts';
import { journalStream, readGroups } from '../events/event-log-redis.ts';
import { idBefore } from '../events/event-log-redis-reader.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { type RedisLink, redisScript } from '../lib/redis-link.ts';
import type { DeliveryRecord } from './delivery-record.ts';

/** A handler belongs to the node that has its lease; a node that dies is followed by another when the lease is over. */
export const leaseMs = 10_000;

const dayMs = 86_400_000;

/** Records that wait for a Redis that is away, at most. */
const mostWaiting = 10_000;

/** KEYS lease, epoch; ARGV node, ms. Returns a token that no owner before or after has. */
const acquireScript = redisScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local token = ARGV[1] .. ':' .. redis.call('INCR', KEYS[2])
redis.call('PEXPIRE', KEYS[2], ${30 * dayMs})
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return token`);

/** KEYS lease; ARGV token, ms (0 gives it up). */
const renewScript = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1`);

/*
 * KEYS lease, journal, records; ARGV token, handler, last ID that is done with, record, oldest ID of records. Who lost the lease may
 * still say what it delivered, but not move the position of the one who has it (fencing).
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
  /** Monotonic time before which Redis cannot have given it to another. */
  validUntilMs: number;
}

/** The name of the stream of delivery records. */
export function recordStream(link: Pick<RedisLink, 'key'>, kind: 'deliveries' | 'replays'): string {
  return link.key(kind);
}

/** What nodes share about deliveries: who delivers for which handler, how far it is, and what came of it. */
export class DeliveryStore {
  readonly #link: RedisLink;
  readonly #node: string;
  readonly #retentionDays: number;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #stream: string;
  #waiting: (() => Promise<unknown>)[] = [];
  #isSending = false;

  /** @param node tells this process from all others, also from one before it on the same machine */
  constructor(link: RedisLink, node: string, options: { retentionDays: number; clock: Clock; log: Log }) {
    this.#link = link;
    this.#node = node;
    this.#retentionDays = options.retentionDays;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#stream = journalStream(link);
  }

  /** @returns undefined while another has it. @throws ServiceError `unavailable` */
  async acquire(handler: string): Promise<Lease | undefined> {
    const askedMs = this.#clock.monotonicMs();
    const keys = [this.#leaseKey(handler), this.#link.key('epoch', handler)];
    const token = (await this.#link.run(acquireScript, keys, [this.#node, leaseMs])) as string | null;
    return token === null ? undefined : { handler, token, validUntilMs: askedMs + leaseMs };
  }

  /** @returns whether it is still this node's. @throws ServiceError `unavailable` */
  async renew(lease: Lease): Promise<boolean> {
    const askedMs = this.#clock.monotonicMs();
    const isOwn = (await this.#link.run(renewScript, [this.#leaseKey(lease.handler)], [lease.token, leaseMs])) === 1;
    if (isOwn) lease.validUntilMs = askedMs + leaseMs;
    return isOwn;
  }

  async release(lease: Lease): Promise<void> {
    await this.#link.run(renewScript, [this.#leaseKey(lease.handler)], [lease.token, 0]);
  }

  /** Handlers that some node delivers for at present, of those named. */
  async owned(handlers: readonly string[]): Promise<Set<string>> {
    if (handlers.length === 0) return new Set();
    const found = (await this.#link.call(['MGET', ...handlers.map((handler) => this.#leaseKey(handler))])) as (string | null)[];
    return new Set(handlers.filter((_, index) => found[index] !== null));
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
   * Records a delivery and moves the position with it. Never throws: what cannot be written waits for Redis to come back.
   *
   * @param lease undefined for a delivery that an upload waits for
   */
  record(record: DeliveryRecord, lease: Lease | undefined, position: LogPosition | undefined): void {
    this.#later(() => this.#write(record.handler, lease, position, JSON.stringify(record)));
  }

  /** Says what came of a delivery that an upload waits for. */
  settle(handler: string, eventUuid: string, isMade: boolean): void {
    const keptMs = Math.ceil(this.#retentionDays * dayMs);
    this.#later(() => this.#link.call(['SET', this.#takenKey(handler, eventUuid), isMade ? '1' : '0', 'PX', String(keptMs)]));
  }

  /** @returns undefined when it is not known yet. @throws ServiceError `unavailable` */
  async settled(handler: string, eventUuid: string): Promise<boolean | undefined> {
    const value = (await this.#link.call(['GET', this.#takenKey(handler, eventUuid)])) as string | null;
    return value === null ? undefined : value === '1';
  }

  /** Tells the others that this process lives. */
  async beat(): Promise<void> {
    await this.#link.call(['SET', this.#link.key('node', this.#node), '1', 'PX', String(leaseMs)]);
  }

  async isAlive(node: string): Promise<boolean> {
    return (await this.#link.call(['EXISTS', this.#link.key('node', node)])) === 1;
  }

  /** Writes what waits for Redis, in order. */
  async flush(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      for (let next = this.#waiting[0]; next && this.#link.isReady; next = this.#waiting[0]) {
        await next();
        this.#waiting.shift();
      }
    } catch (error) {
      this.#log.debug('records of deliveries wait for Redis', { waiting: this.#waiting.length, reason: error });
    } finally {
      this.#isSending = false;
    }
  }

  #later(write: () => Promise<unknown>): void {
    this.#waiting.push(write);
    if (this.#waiting.length > mostWaiting) {
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

  #takenKey(handler: string, eventUuid: string): string {
    return this.#link.key('taken', handler, eventUuid);
  }
}
