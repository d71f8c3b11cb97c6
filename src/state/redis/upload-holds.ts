import { randomUUID } from 'node:crypto';
import { UploadHolds, type UploadTurn } from '../../files/uploads/upload-holds.ts';
import { refuseLost } from '../../files/uploads/upload-store.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';

/*
 * A hold gives one request the exclusive use of an upload. It is a hash with these fields: its owner (`token`), the time of the owner's
 * request (`ticket`), the expiry of its lease (`ends`), and the time of the newest other request (`wish`). `abandoned` is set if the lease
 * of an owner expired without a release, because that owner may still write the content. Times are microseconds of the Redis clock.
 */
const readHold = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local token, ticket, ends, wish = unpack(redis.call('HMGET', KEYS[1], 'token', 'ticket', 'ends', 'wish'))
ticket, wish = tonumber(ticket or '') or 0, tonumber(wish or '')
local isHeld = token and (tonumber(ends or '') or 0) > now
local function text(number) return string.format('%.0f', number) end
local function wishSince(since)
  if tonumber(wish or 0) < tonumber(since) then redis.call('HSET', KEYS[1], 'wish', since) end
end
`;

/**
 * KEYS: hold, record. ARGV: token, lease in µs, life in ms, ticket or ''. Takes the hold if it is free; otherwise records a wish for it.
 * Returns the ticket, whether the hold was taken, whether an earlier owner never released it, and the record.
 */
const holdScript = redisScript(`${readHold}
local own = ARGV[4] == '' and text(now) or ARGV[4]
if isHeld then
  wishSince(own)
  return {own, 0, 0}
end
if token then redis.call('HSET', KEYS[1], 'abandoned', 1) end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'ticket', own, 'ends', text(now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {own, 1, redis.call('HEXISTS', KEYS[1], 'abandoned'), redis.call('GET', KEYS[2])}`);

/**
 * KEYS: hold. ARGV: ticket or ''. If an owner with an earlier ticket has the hold, records a wish for it. An owner whose lease has expired
 * loses the hold. Returns the ticket, and 1 if the hold is free or belongs to a later ticket, otherwise 0.
 */
const quietScript = redisScript(`${readHold}
local own = ARGV[1] == '' and text(now) or ARGV[1]
if isHeld and tonumber(ticket) <= tonumber(own) then
  wishSince(own)
  return {own, 0}
end
if token and not isHeld then
  redis.call('HDEL', KEYS[1], 'token')
  redis.call('HSET', KEYS[1], 'abandoned', 1)
end
return {own, 1}`);

/** KEYS: hold. ARGV: token, lease in µs, life in ms. Renews a hold unless its owner has lost it. Returns 'lost', 'wanted' or 'held'. */
const renewScript = redisScript(`${readHold}
if token ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'ends', text(now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return wish and tonumber(wish) > tonumber(ticket) and 'wanted' or 'held'`);

/** KEYS: hold. ARGV: token. Releases the hold if this owner still has it. */
const releaseScript = redisScript(`
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return end
if redis.call('HEXISTS', KEYS[1], 'abandoned') == 1 then redis.call('HDEL', KEYS[1], 'token') else redis.call('DEL', KEYS[1]) end`);

/** KEYS: hold. Returns whether the upload is held. */
const isHeldScript = redisScript(`${readHold} return isHeld and 1 or 0`);

/** Duration of a lease in milliseconds. After a node fails, its uploads stay held for this time. */
const leaseMs = 10_000;

/** Interval in milliseconds at which a node renews its holds and checks whether other requests want them. */
const renewEveryMs = 1000;

/** Interval in milliseconds at which a waiting node asks for a hold again. */
const askEveryMs = 100;

/**
 * Lifetime of a hold in milliseconds. It exceeds the lifetime of any upload (`server.uploads`), because a hold with `abandoned` must not
 * expire before its upload.
 */
const lifeMs = 32 * 86_400_000;

interface RedisUploadTurn extends UploadTurn {
  readonly token: string;
  /** @see UploadHold.isTakeover */
  readonly isTakeover: boolean;
  /** The record at the time when the hold was taken. A later read could return changes by the next owner. */
  readonly recordText: string | undefined;
  /** @see UploadHold.confirm */
  confirm(): Promise<void>;
}

/** Gives each upload to one request of one node at a time, under a lease that the owner renews. */
export class RedisUploadHolds {
  readonly #link: RedisLink;
  readonly #kind: string;
  readonly #clock: Clock;
  readonly #own = new UploadHolds();

  /** @param kind prefix of the Redis keys of records and holds */
  constructor(link: RedisLink, clock: Clock, kind: string) {
    this.#link = link;
    this.#kind = kind;
    this.#clock = clock;
  }

  /** Waits first for the other requests of this node, and then for requests of other nodes. @see UploadStore.hold */
  async take(id: string, onWanted: () => void): Promise<RedisUploadTurn> {
    const own = await this.#own.take(id, onWanted);
    try {
      return await this.#takeOfAll(id, own, onWanted);
    } catch (error) {
      own.release();
      throw error;
    }
  }

  async #takeOfAll(id: string, own: UploadTurn, onWanted: () => void): Promise<RedisUploadTurn> {
    const token = randomUUID();
    const keys = this.#holdKeys(id);
    const lease = [token, leaseMs * 1000, lifeMs];
    let confirmedMs = this.#clock.monotonicMs();
    const [, , isAbandoned, record] = await this.#askUntilDone((ticket) => {
      confirmedMs = this.#clock.monotonicMs();
      return this.#link.run(holdScript, [...keys, this.#link.key(`${this.#kind}:${id}`)], [...lease, ticket]);
    });
    let isWanted = false;
    const want = () => {
      if (isWanted) return;
      isWanted = true;
      onWanted();
    };
    // A hold that has not been confirmed for half of its lease may soon belong to another node.
    const isOld = () => this.#clock.monotonicMs() - confirmedMs > leaseMs / 2;
    const renew = async () => {
      const askedMs = this.#clock.monotonicMs();
      const answer = await this.#link.run(renewScript, keys, lease).then(String, () => undefined);
      if (answer === 'lost' || answer === 'wanted') want();
      if (answer === 'lost' || (answer === undefined && isOld())) return false;
      if (answer !== undefined) confirmedMs = askedMs;
      return true;
    };
    const timer = this.#clock.every(renewEveryMs, () => void renew().then((isOurs) => isOurs || want()));
    return {
      token,
      isTakeover: isAbandoned === 1,
      recordText: record ? String(record) : undefined,
      get isWanted() {
        return isWanted || own.isWanted;
      },
      confirm: async () => {
        if (!(await renew())) refuseLost();
      },
      release: () => {
        timer.cancel();
        const released = this.#link.run(releaseScript, keys, [token]).catch(() => {});
        void released.then(() => own.release());
      },
    };
  }

  /** @see UploadStore.quiet */
  async quiet(id: string): Promise<void> {
    await this.#own.quiet(id);
    await this.#askUntilDone((ticket) => this.#link.run(quietScript, this.#holdKeys(id), [ticket]));
  }

  /** Whether a request on any node holds the upload, or a request on this node waits for it. */
  async isHeld(id: string): Promise<boolean> {
    return this.#own.has(id) || (await this.#link.run(isHeldScript, this.#holdKeys(id), [])) === 1;
  }

  // The first reply contains the ticket, and each later call sends it again. The request with the newest ticket gets the upload.
  async #askUntilDone(ask: (ticket: string) => Promise<unknown>): Promise<readonly unknown[]> {
    let ticket = '';
    for (;;) {
      const answer = (await ask(ticket)) as unknown[];
      if (answer[1] === 1) return answer;
      ticket = String(answer[0]);
      await this.#clock.sleep(askEveryMs);
    }
  }

  #holdKeys(id: string): string[] {
    return [this.#link.key(`${this.#kind}-hold:${id}`)];
  }
}
