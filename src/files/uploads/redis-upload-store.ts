import { randomUUID } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisScript } from '../../lib/redis/redis-script.ts';
import { type PassingUpload, PassingUploads } from './passing-uploads.ts';
import { UploadHolds } from './upload-holds.ts';
import {
  expiryOf,
  isUploadId,
  keptWhenOverMs,
  newProgress,
  newUploadId,
  refuseMoreThan,
  type UploadHold,
  type UploadLimits,
  type UploadOrder,
  type UploadProgress,
  type UploadRecord,
  type UploadStore,
} from './upload-store.ts';

/*
 * `upload:ID` is the record's JSON; `uploads` has all IDs by their expiry; `upload-paths` those that are not over by the path of their content;
 * `uploads-completing` those whose end was begun; `uploads-of:ACCOUNT` those that count for an account.
 */

/** KEYS record, all, paths, of the account; ARGV ID, record, expiry, path, most, life in ms. Returns whether it was kept. */
const addScript = redisScript(`
if redis.call('SCARD', KEYS[4]) >= tonumber(ARGV[5]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[6])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('ZADD', KEYS[3], 0, ARGV[4])
redis.call('SADD', KEYS[4], ARGV[1])
for _, key in ipairs({KEYS[2], KEYS[3], KEYS[4]}) do
  if redis.call('PTTL', key) < tonumber(ARGV[6]) then redis.call('PEXPIRE', key, ARGV[6]) end
end
return 1`);

/** KEYS record, all, paths, of the account, completing; ARGV ID, record, expiry, path, life in ms, 'open', 'completing' or 'over'. Returns whether there was one. */
const changeScript = redisScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[5])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
if ARGV[6] == 'completing' then redis.call('SADD', KEYS[5], ARGV[1]) else redis.call('SREM', KEYS[5], ARGV[1]) end
if ARGV[6] == 'over' then
  redis.call('ZREM', KEYS[3], ARGV[4])
  redis.call('SREM', KEYS[4], ARGV[1])
end
for _, key in ipairs({KEYS[2], KEYS[3], KEYS[4], KEYS[5]}) do
  if redis.call('PTTL', key) < tonumber(ARGV[5]) then redis.call('PEXPIRE', key, ARGV[5]) end
end
return 1`);

/** KEYS record, all, paths, of the account, completing; ARGV ID, path. */
const removeScript = redisScript(`
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])`);

/*
 * A hold is a hash: whose it is (`token`), since when he wanted it (`ticket`) and until when he has it (`ends`), and since when the newest
 * of the others wants the upload (`wish`); times of Redis in microseconds.
 */
const readHold = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local token, ticket, ends, wish = unpack(redis.call('HMGET', KEYS[1], 'token', 'ticket', 'ends', 'wish'))
local isHeld = token and tonumber(ends) > now
local function text(number) return string.format('%.0f', number) end
local function wishSince(since)
  if tonumber(wish or 0) < tonumber(since) then redis.call('HSET', KEYS[1], 'wish', since) end
end
`;

/** KEYS hold; ARGV token, lease in us, life in ms, ticket if there is one. Returns the ticket, and whether the upload was taken; if not, the wish is noted. */
const holdScript = redisScript(`${readHold}
local own = ARGV[4] == '' and text(now) or ARGV[4]
if isHeld then
  wishSince(own)
  return {own, 0}
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'ticket', own, 'ends', text(now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return {own, 1}`);

/** KEYS hold; ARGV ticket if there is one. Returns the ticket, and whether nobody has the upload who had it before; if not, the wish is noted. */
const quietScript = redisScript(`${readHold}
local own = ARGV[1] == '' and text(now) or ARGV[1]
if not isHeld or tonumber(ticket) > tonumber(own) then return {own, 1} end
wishSince(own)
return {own, 0}`);

/** KEYS hold; ARGV token, lease in us, life in ms. Returns 'lost', 'wanted' or 'held', and renews what is held. */
const renewScript = redisScript(`${readHold}
if token ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'ends', text(now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return wish and tonumber(wish) > tonumber(ticket) and 'wanted' or 'held'`);

/** KEYS hold; ARGV token. */
const releaseScript = redisScript(`if redis.call('HGET', KEYS[1], 'token') == ARGV[1] then redis.call('DEL', KEYS[1]) end`);

/** KEYS hold. Returns whether somebody has the upload. */
const isHeldScript = redisScript(`${readHold} return isHeld and 1 or 0`);

/** A node that is gone keeps an upload from the others for so long. */
const leaseMs = 10_000;

/** How often a node renews what it holds, and looks whether somebody else wants it. */
const renewEveryMs = 1000;

/** How often a node that waits for another one asks. */
const askEveryMs = 100;

/** Records stay for so much longer than their time, so that some node tells of the end. */
const marginMs = 86_400_000;

/** Unfinished uploads of all nodes; their content is on the file system that the nodes share. */
export class RedisUploadStore implements UploadStore {
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #limits: () => UploadLimits;
  readonly #holds = new UploadHolds();
  /** Of this node. */
  readonly #passing = new PassingUploads();

  constructor(link: RedisLink, clock: Clock, limits: () => UploadLimits) {
    this.#link = link;
    this.#clock = clock;
    this.#limits = limits;
  }

  async add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord> {
    const limits = this.#limits();
    const progress = newProgress(lengthBytes);
    const record = { ...order, ...progress, id: newUploadId(), expiresMs: expiryOf(progress, this.#clock.nowMs(), limits) };
    const { id, expiresMs } = record;
    const most = limits.mostOfAccount - this.#passing.countOf(order.accountUuid);
    const args = [id, JSON.stringify(record), expiresMs, pathMember(record), most, this.#lifeMs(record)];
    if ((await this.#link.run(addScript, this.#keysOf(record).slice(0, 4), args)) !== 1) refuseMoreThan(limits.mostOfAccount);
    return record;
  }

  async find(id: string): Promise<UploadRecord | undefined> {
    if (!isUploadId(id)) return undefined;
    const key = this.#key(`upload:${id}`);
    const text = await this.#link.call(['GET', key]);
    return text === null ? undefined : this.#link.values.read(key, text, recordOf);
  }

  async change(id: string, change: Partial<UploadProgress>): Promise<UploadRecord> {
    const before = await this.find(id);
    const gone = () => new ServiceError('not-found', 'The upload is gone.');
    if (!before) throw gone();
    const changed = { ...before, ...change };
    const record = { ...changed, expiresMs: expiryOf(changed, this.#clock.nowMs(), this.#limits()) };
    const state = record.outcome ? 'over' : record.completion ? 'completing' : 'open';
    const args = [id, JSON.stringify(record), record.expiresMs, pathMember(record), this.#lifeMs(record), state];
    if ((await this.#link.run(changeScript, this.#keysOf(record), args)) !== 1) throw gone();
    return record;
  }

  async remove(id: string): Promise<void> {
    const record = await this.find(id);
    if (record) await this.#link.run(removeScript, this.#keysOf(record), [id, pathMember(record)]);
    else await this.#link.call(['ZREM', this.#key('uploads'), id]);
  }

  // First among the requests of this node, then among the nodes.
  async hold(id: string, onWanted: () => void): Promise<UploadHold> {
    const own = await this.#holds.take(id, onWanted);
    try {
      return await this.#holdForAll(id, own, onWanted);
    } catch (error) {
      own.release();
      throw error;
    }
  }

  async #holdForAll(id: string, own: UploadHold, onWanted: () => void): Promise<UploadHold> {
    const token = randomUUID();
    const keys = [this.#key(`upload-hold:${id}`)];
    const lease = [token, leaseMs * 1000, marginMs];
    await this.#askUntilDone((ticket) => this.#link.run(holdScript, keys, [...lease, ticket]));
    let isWanted = false;
    let confirmedMs = this.#clock.monotonicMs();
    const want = () => {
      if (isWanted) return;
      isWanted = true;
      onWanted();
    };
    const renew = async () => {
      const answer = await this.#link.run(renewScript, keys, lease).catch(() => undefined);
      if (answer !== undefined) confirmedMs = this.#clock.monotonicMs();
      // What was not confirmed for most of the lease may be another node's soon.
      if (String(answer) === 'lost' || String(answer) === 'wanted' || this.#clock.monotonicMs() - confirmedMs > leaseMs / 2) want();
    };
    const timer = this.#clock.every(renewEveryMs, () => void renew());
    return {
      get isWanted() {
        return isWanted || own.isWanted;
      },
      release: () => {
        timer.cancel();
        const released = this.#link.run(releaseScript, keys, [token]).catch(() => {});
        void released.then(() => own.release());
      },
    };
  }

  async quiet(id: string): Promise<void> {
    await this.#holds.quiet(id);
    await this.#askUntilDone((ticket) => this.#link.run(quietScript, [this.#key(`upload-hold:${id}`)], [ticket]));
  }

  // The first answer has the ticket: the newest of all who wait for an upload wins.
  async #askUntilDone(ask: (ticket: string) => Promise<unknown>): Promise<void> {
    let ticket = '';
    for (;;) {
      const [own, isDone] = (await ask(ticket)) as [unknown, number];
      if (isDone === 1) return;
      ticket = String(own);
      await this.#clock.sleep(askEveryMs);
    }
  }

  async within(realPath: string): Promise<UploadRecord[]> {
    const folder = realPath === '/' ? '' : realPath;
    const paths = this.#key('upload-paths');
    // The member of a path goes on with a slash, for what lies below, or with NUL, behind which stands the ID.
    const below = (await this.#link.call(['ZRANGEBYLEX', paths, `[${folder}/`, `(${folder}0`])) as unknown[];
    const records = await Promise.all(below.map((member) => this.find(idOf(String(member)))));
    return records.flatMap((record) => (record && !record.outcome ? [record] : []));
  }

  async enter(upload: PassingUpload): Promise<() => void> {
    const { mostOfAccount } = this.#limits();
    const leave = this.#passing.enter(upload);
    try {
      const others = Number(await this.#link.call(['SCARD', this.#key(`uploads-of:${upload.accountUuid}`)]));
      if (others + this.#passing.countOf(upload.accountUuid) > mostOfAccount) refuseMoreThan(mostOfAccount);
    } catch (error) {
      leave();
      throw error;
    }
    return leave;
  }

  async dismiss(realPath: string): Promise<void> {
    this.#passing.dismiss(realPath);
  }

  async expired(): Promise<UploadRecord[]> {
    const ids = (await this.#link.call([
      ...['ZRANGEBYSCORE', this.#key('uploads'), '-inf', String(Math.floor(this.#clock.nowMs()))],
      ...['LIMIT', '0', '1000'],
    ])) as unknown[];
    return this.#unheld(ids.map(String));
  }

  async completing(): Promise<UploadRecord[]> {
    const ids = (await this.#link.call(['SMEMBERS', this.#key('uploads-completing')])) as unknown[];
    return (await this.#unheld(ids.map(String))).filter(({ completion, outcome }) => completion !== undefined && !outcome);
  }

  async #unheld(ids: readonly string[]): Promise<UploadRecord[]> {
    const records: UploadRecord[] = [];
    for (const id of ids) {
      if (this.#holds.has(id) || (await this.#link.run(isHeldScript, [this.#key(`upload-hold:${id}`)], [])) === 1) continue;
      const record = await this.find(id);
      if (record) records.push(record);
      else await this.remove(id);
    }
    return records;
  }

  #lifeMs({ expiresMs, outcome }: Pick<UploadRecord, 'expiresMs' | 'outcome'>): number {
    return Math.ceil((outcome ? keptWhenOverMs : expiresMs - this.#clock.nowMs()) + marginMs);
  }

  #keysOf({ id, accountUuid }: Pick<UploadRecord, 'id' | 'accountUuid'>): string[] {
    return [`upload:${id}`, 'uploads', 'upload-paths', `uploads-of:${accountUuid}`, 'uploads-completing'].map((name) => this.#key(name));
  }

  #key(name: string): string {
    return this.#link.key(name);
  }
}

function pathMember({ contentPath, id }: Pick<UploadRecord, 'contentPath' | 'id'>): string {
  return `${contentPath}\0${id}`;
}

function idOf(member: string): string {
  return member.slice(member.lastIndexOf('\0') + 1);
}

/** @throws TypeError for what is no record */
function recordOf(value: unknown): UploadRecord {
  const record = value as UploadRecord;
  const texts = [record.id, record.accountUuid, record.path, record.contentPath, record.origin.account.uuid];
  const numbers = [record.offsetBytes, record.expiresMs];
  if (!texts.every((text) => typeof text === 'string') || !numbers.every(Number.isFinite)) throw new TypeError('It is no upload.');
  return { ...record, lengthBytes: record.lengthBytes, completion: record.completion, outcome: record.outcome };
}
