import { dirname } from 'node:path';
import { type PassingUpload, PassingUploads } from '../../files/uploads/upload-holds.ts';
import {
  changed,
  isEnding,
  isUploadId,
  keptWhenOverMs,
  newUploadRecord,
  refuseLost,
  refuseMoreThan,
  type SharedUploadStore,
  type UploadChange,
  type UploadHold,
  type UploadLimits,
  type UploadOrder,
  type UploadRecord,
  uploadParty,
  uploadTarget,
} from '../../files/uploads/upload-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { markerScript, redisScript } from '../../lib/redis/redis-script.ts';
import { RedisUploadHolds } from './upload-holds.ts';

/*
 * Keys begin with `upload`, or with `held` for uploads that wait for a decision. `upload:ID` has the record as JSON. `uploads` has all IDs,
 * ordered by expiry. `upload-paths` has the unfinished uploads, ordered by the path of their content. `uploads-completing` has the IDs of
 * uploads that are being completed or ended. `uploads-of:PARTY` has the IDs that count towards one limit (`uploadParty`).
 */

/**
 * KEYS: `upload:ID`, `uploads`, `upload-paths`, `uploads-of:PARTY`. ARGV: ID, record, expiry, path, maximum, life in ms. Returns whether
 * the record was added.
 */
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

/**
 * KEYS: `upload:ID`, `uploads`, `upload-paths`, `uploads-of:PARTY`, `uploads-completing`, hold. ARGV: ID, record, expiry, path, life in ms,
 * state ('open', 'completing' or 'over'), token, previous path, whether the content is new. Returns 'lost', 'gone' or 'done'.
 */
const changeScript = redisScript(`
if redis.call('HGET', KEYS[6], 'token') ~= ARGV[7] then return 'lost' end
if redis.call('EXISTS', KEYS[1]) == 0 then return 'gone' end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[5])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
if ARGV[8] ~= ARGV[4] then
  redis.call('ZREM', KEYS[3], ARGV[8])
  redis.call('ZADD', KEYS[3], 0, ARGV[4])
end
if ARGV[9] == '1' then redis.call('HDEL', KEYS[6], 'abandoned') end
if ARGV[6] == 'completing' then redis.call('SADD', KEYS[5], ARGV[1]) else redis.call('SREM', KEYS[5], ARGV[1]) end
if ARGV[6] == 'over' then
  redis.call('ZREM', KEYS[3], ARGV[4])
  redis.call('SREM', KEYS[4], ARGV[1])
end
for _, key in ipairs({KEYS[2], KEYS[3], KEYS[4], KEYS[5]}) do
  if redis.call('PTTL', key) < tonumber(ARGV[5]) then redis.call('PEXPIRE', key, ARGV[5]) end
end
return 'done'`);

/** KEYS: as for `changeScript`. ARGV: ID, path, token. Returns 'lost' or 'done'. */
const removeScript = redisScript(`
if redis.call('HGET', KEYS[6], 'token') ~= ARGV[3] then return 'lost' end
redis.call('DEL', KEYS[1], KEYS[6])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('SREM', KEYS[5], ARGV[1])
return 'done'`);

/** KEYS: records. Returns 1 for each record that exists, otherwise 0. */
const existScript = markerScript(`
local found = {}
for index = 1, #KEYS - 1 do found[index] = redis.call('EXISTS', KEYS[index]) end
return found`);

const existPage = 500;

/** KEYS: `upload:ID`, `uploads`, `uploads-completing`. ARGV: ID, record, expiry, life in ms. Restores a record that Redis has lost. */
const restoreScript = markerScript(`
if not redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[4]) then return end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
redis.call('SADD', KEYS[3], ARGV[1])
for index = 2, 3 do
  if redis.call('PTTL', KEYS[index]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[index], ARGV[4]) end
end`);

/** Time in milliseconds for which an expired record is kept, so that a node can still emit the event for the end of the upload. */
const marginMs = 86_400_000;

/** For each list of IDs: the command that removes an ID from the list, and the last part of the list's key. */
const idLists = [
  ['ZREM', 's'],
  ['SREM', 's-completing'],
] as const;

/** The unfinished uploads of all nodes. Their content is on the file system that the nodes share. */
export class RedisUploadStore implements SharedUploadStore {
  readonly #link: RedisLink;
  readonly #kind: string;
  readonly #clock: Clock;
  readonly #limits: () => UploadLimits;
  readonly #holds: RedisUploadHolds;
  /** Running uploads of this node that have no record in Redis. */
  readonly #passing = new PassingUploads();

  /** @param kind prefix of the Redis keys */
  constructor(link: RedisLink, clock: Clock, limits: () => UploadLimits, kind: 'upload' | 'held' = 'upload') {
    this.#link = link;
    this.#kind = kind;
    this.#clock = clock;
    this.#limits = limits;
    this.#holds = new RedisUploadHolds(link, clock, kind);
  }

  async add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord> {
    const limits = this.#limits();
    const record = newUploadRecord(order, lengthBytes, this.#clock.nowMs(), limits);
    const { id, expiresMs } = record;
    const most = limits.maxPerAccount - this.#passing.count(uploadParty(order));
    const args = [id, JSON.stringify(record), expiresMs, pathMember(record), most, this.#lifeMs(record)];
    if ((await this.#link.run(addScript, this.#uploadKeys(record).slice(0, 4), args)) !== 1) refuseMoreThan(limits.maxPerAccount);
    return record;
  }

  async find(id: string): Promise<UploadRecord | undefined> {
    if (!isUploadId(id)) return undefined;
    const key = this.#key(`:${id}`);
    const text = await this.#link.call(['GET', key]);
    return text === null ? undefined : this.#link.values.read(key, text, parseRecord);
  }

  async hold(id: string, onWanted: () => void): Promise<UploadHold> {
    const turn = await this.#holds.take(id, onWanted);
    let record = turn.recordText === undefined ? undefined : this.#link.values.read(this.#key(`:${id}`), turn.recordText, parseRecord);
    const change = async (asked: UploadChange, isRenewed: boolean) => {
      if (!record) throw new ServiceError('not-found', 'The upload is gone.');
      record = await this.#change(turn.token, record, asked, isRenewed);
      return record;
    };
    let isTakeover = turn.isTakeover;
    return {
      get record() {
        return record;
      },
      get isWanted() {
        return turn.isWanted;
      },
      get isTakeover() {
        return isTakeover;
      },
      change: (asked) => change(asked, false),
      renewContent: async (contentPath) => {
        const renewed = await change({ contentPath }, true);
        isTakeover = false;
        return renewed;
      },
      confirm: () => turn.confirm(),
      remove: () => (record ? this.#remove(turn.token, record) : Promise.resolve()),
      release: () => turn.release(),
    };
  }

  async #change(token: string, before: UploadRecord, change: UploadChange, isRenewed: boolean): Promise<UploadRecord> {
    const record = changed(before, change, this.#clock.nowMs(), this.#limits());
    const state = record.outcome ? 'over' : isEnding(record) ? 'completing' : 'open';
    const args = [record.id, JSON.stringify(record), record.expiresMs, pathMember(record), this.#lifeMs(record), state];
    const more = [token, pathMember(before), isRenewed ? 1 : 0];
    const answer = String(await this.#link.run(changeScript, this.#uploadKeys(record), [...args, ...more]));
    if (answer === 'lost') refuseLost();
    if (answer === 'gone') throw new ServiceError('not-found', 'The upload is gone.');
    return record;
  }

  async #remove(token: string, record: UploadRecord): Promise<void> {
    const answer = await this.#link.run(removeScript, this.#uploadKeys(record), [record.id, pathMember(record), token]);
    if (String(answer) === 'lost') refuseLost();
  }

  quiet(id: string): Promise<void> {
    return this.#holds.quiet(id);
  }

  async within(realPath: string): Promise<UploadRecord[]> {
    const folder = realPath === '/' ? '' : realPath;
    const paths = this.#key('-paths');
    // A member is a path, NUL and the ID. Paths below the folder begin with its path and `/`. The character after `/` in ASCII is `0`.
    const below = (await this.#link.call(['ZRANGEBYLEX', paths, `[${folder}/`, `(${folder}0`])) as unknown[];
    const records = await Promise.all(below.map((member) => this.find(parseMemberId(String(member)))));
    return records.flatMap((record) => (record && !record.outcome ? [record] : []));
  }

  async named(target: string): Promise<UploadRecord[]> {
    return (await this.within(dirname(target))).filter((record) => uploadTarget(record) === target);
  }

  async enter(upload: PassingUpload): Promise<() => void> {
    const { maxPerAccount } = this.#limits();
    const leave = this.#passing.enter(upload);
    try {
      const others = Number(await this.#link.call(['SCARD', this.#key(`s-of:${upload.accountUuid}`)]));
      if (others + this.#passing.count(upload.accountUuid) > maxPerAccount) refuseMoreThan(maxPerAccount);
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
      ...['ZRANGEBYSCORE', this.#key('s'), '-inf', String(Math.floor(this.#clock.nowMs()))],
      ...['LIMIT', '0', '1000'],
    ])) as unknown[];
    return this.#unheld(ids.map(String));
  }

  async completing(): Promise<UploadRecord[]> {
    const ids = (await this.#link.call(['SMEMBERS', this.#key('s-completing')])) as unknown[];
    return (await this.#unheld(ids.map(String))).filter(isEnding);
  }

  async #unheld(ids: readonly string[]): Promise<UploadRecord[]> {
    const records: UploadRecord[] = [];
    for (const id of ids) {
      if (await this.#holds.isHeld(id)) continue;
      const record = await this.find(id);
      if (record) records.push(record);
      else for (const [command, key] of idLists) await this.#link.call([command, this.#key(key), id]);
    }
    return records;
  }

  async missing(ids: readonly string[]): Promise<string[]> {
    const missing: string[] = [];
    for (let index = 0; index < ids.length; index += existPage) {
      const asked = ids.slice(index, index + existPage);
      const keys = asked.map((id) => this.#key(`:${id}`));
      const found = (await this.#link.run(existScript, keys, [])) as number[];
      missing.push(...asked.filter((_, at) => found[at] === 0));
    }
    return missing;
  }

  async restore(record: UploadRecord): Promise<void> {
    if (record.held && !isEnding(record)) {
      const args = [record.id, JSON.stringify(record), record.expiresMs, pathMember(record), Number.MAX_SAFE_INTEGER, this.#lifeMs(record)];
      await this.#link.run(addScript, this.#uploadKeys(record).slice(0, 4), args);
      return;
    }
    const keys = this.#uploadKeys(record);
    const used = [0, 1, 4].map((index) => keys[index] as string);
    await this.#link.run(restoreScript, used, [record.id, JSON.stringify(record), record.expiresMs, this.#lifeMs(record)]);
  }

  #lifeMs({ expiresMs, outcome }: Pick<UploadRecord, 'expiresMs' | 'outcome'>): number {
    return Math.ceil((outcome ? keptWhenOverMs : expiresMs - this.#clock.nowMs()) + marginMs);
  }

  #uploadKeys(record: Pick<UploadRecord, 'id' | 'accountUuid' | 'origin'>): string[] {
    const { id } = record;
    const names = [`:${id}`, 's', '-paths', `s-of:${uploadParty(record)}`, 's-completing', `-hold:${id}`];
    return names.map((name) => this.#key(name));
  }

  #key(name: string): string {
    return this.#link.key(this.#kind + name);
  }
}

function pathMember({ contentPath, id }: Pick<UploadRecord, 'contentPath' | 'id'>): string {
  return `${contentPath}\0${id}`;
}

function parseMemberId(member: string): string {
  return member.slice(member.lastIndexOf('\0') + 1);
}

/** @throws TypeError for a value that is not an upload record */
function parseRecord(value: unknown): UploadRecord {
  const record = value as UploadRecord;
  const texts = [record.id, record.accountUuid, record.path, record.contentPath, record.origin.account.uuid];
  const numbers = [record.offsetBytes, record.expiresMs];
  if (!texts.every((text) => typeof text === 'string') || !numbers.every(Number.isFinite)) throw new TypeError('It is not an upload.');
  const { lengthBytes, completion, ending, outcome } = record;
  return { ...record, lengthBytes, completion, ending, outcome };
}
