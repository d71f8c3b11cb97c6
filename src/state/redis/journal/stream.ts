import type { LoggedEvent } from '../../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../../events/journal/position.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import type { RedisCaller, RedisLink } from '../../../lib/redis/redis-link.ts';
import { redisScript } from '../../../lib/redis/redis-script.ts';
import { noId } from './checkpoints.ts';
import { positionAfterId, type StreamEntry, streamField } from './reader.ts';

/** Undelivered events are kept for at most this number of retention periods. */
const sparedRetentions = 2;

const dayMs = 86_400_000;

/** Removes events from a stream when their retention is over, except for events that a handler still has to deliver. */
export async function trimStream(
  { link, clock, retentionDays, log }: { link: RedisLink; clock: Clock; retentionDays: number; log: Log },
  stream: string,
): Promise<void> {
  if (!link.isReady) return;
  try {
    const oldestMs = clock.nowMs() - retentionDays * dayMs;
    const spareMs = Math.max(oldestMs - (sparedRetentions - 1) * retentionDays * dayMs, 0);
    const positions = [...(await readGroups(link, stream)).values()];
    const needed = positions.sort(comparePositions)[0]?.segment ?? oldestMs;
    await link.call(['XTRIM', stream, 'MINID', '~', String(Math.floor(Math.max(Math.min(oldestMs, needed), spareMs)))]);
  } catch (error) {
    log.warn('events past their retention could not be removed', { reason: error });
  }
}

/** Reads the position at which each handler continues. Each handler has its own consumer group of the stream. */
export async function readGroups(link: Pick<RedisLink, 'call'>, stream: string): Promise<Map<string, LogPosition>> {
  let groups: unknown[][];
  try {
    groups = (await link.call(['XINFO', 'GROUPS', stream])) as unknown[][];
  } catch (error) {
    // The stream does not exist yet.
    if (/no such key/i.test(String((error as Error).cause))) return new Map();
    throw error;
  }
  return new Map(
    groups.map((group) => {
      const member = (name: string) => String(group[group.indexOf(name) + 1]);
      return [member('name'), positionAfterId(member('last-delivered-id'))];
    }),
  );
}

const pageEntries = 1000;

/*
 * Returns whether the stream is complete up to an ID: the marker matches, and either the entry exists or all entries up to it were trimmed.
 * This check is enough, because a killed Redis, or a replica that took over, lacks only the last entries.
 */
const isWholeText = `
local function isWhole(stream, markerKey, marker, id)
  if redis.call('GET', markerKey) ~= marker then return false end
  if id == '${noId}' then return true end
  if redis.call('EXISTS', stream) == 0 then return false end
  if #redis.call('XRANGE', stream, id, id) > 0 then return true end
  return #redis.call('XRANGE', stream, '-', id, 'COUNT', 1) == 0
end
`;

const wholeScript = redisScript(`${isWholeText} return isWhole(KEYS[1], KEYS[2], ARGV[1], ARGV[2]) and 1 or 0`);

/*
 * KEYS: stream, marker, counter. ARGV: expected marker, last own ID, node, then three values for each entry: the event, the account's
 * group, and the handler for whose answer an upload waits (or ''). Adds all entries or none. Entries are numbered consecutively, so that
 * the entries between two positions can be counted. Returns the IDs, or false if the stream is incomplete.
 */
const addScript = redisScript(`${isWholeText}
if not isWhole(KEYS[1], KEYS[2], ARGV[1], ARGV[2]) then return false end
local ids = {}
local function number()
  local next = redis.pcall('INCR', KEYS[3])
  if type(next) == 'number' then return next end
  local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  next = (last and last[2][1] == 'number' and tonumber(last[2][2]) or 0) + 1
  redis.call('SET', KEYS[3], string.format('%d', next))
  return next
end
for index = 4, #ARGV, 3 do
  local fields = {'number', number(), 'node', ARGV[3], 'event', ARGV[index]}
  if ARGV[index + 1] ~= '' then table.insert(fields, 'group') table.insert(fields, ARGV[index + 1]) end
  if ARGV[index + 2] ~= '' then table.insert(fields, 'taken_by') table.insert(fields, ARGV[index + 2]) end
  table.insert(ids, redis.call('XADD', KEYS[1], '*', unpack(fields)))
end
return ids`);

export interface StreamKeys {
  stream: string;
  /** Identifies the data of a Redis; the marker changes when Redis is emptied. */
  marker: string;
  counter: string;
}

/** The last state of the stream that its writer saw. */
export interface KnownStream {
  marker: string;
  /** The stream has all entries of the node up to this ID. */
  lastId: string;
}

/**
 * Returns the server of a node. The name of a node is the name of its server, a dot and eight random hexadecimal digits for the process.
 */
export function nodeServerName(node: string): string {
  return node.replace(/\.[0-9a-f]{8}$/, '');
}

/** Adds the events of one node to the journal's stream, and checks whether the stream still has them. */
export class StreamWriter {
  readonly #caller: RedisCaller;
  readonly #keys: StreamKeys;
  readonly #node: string;

  constructor(caller: RedisCaller, keys: StreamKeys, node: string) {
    this.#caller = caller;
    this.#keys = keys;
    this.#node = node;
  }

  /** Adds events, unless the stream is incomplete. @returns the IDs of the entries; undefined if the stream is incomplete */
  async add(events: readonly LoggedEvent[], known: KnownStream): Promise<string[] | undefined> {
    const { stream, marker, counter } = this.#keys;
    const values = events.flatMap(({ raw, group, takenBy }) => [raw, group ?? '', takenBy ?? '']);
    const ids = await this.#caller.run(addScript, [stream, marker, counter], [known.marker, known.lastId, this.#node, ...values]);
    return (ids as string[] | null) ?? undefined;
  }

  async isWhole({ marker, lastId }: KnownStream): Promise<boolean> {
    return (await this.#caller.run(wholeScript, [this.#keys.stream, this.#keys.marker], [marker, lastId])) === 1;
  }

  async has(id: string): Promise<boolean> {
    return id === noId || ((await this.#caller.call(['XRANGE', this.#keys.stream, id, id])) as unknown[]).length > 0;
  }

  /** Returns the ID of the last entry, or `0-0` for an empty stream. */
  async lastId(): Promise<string> {
    const [last] = (await this.#caller.call(['XREVRANGE', this.#keys.stream, '+', '-', 'COUNT', '1'])) as StreamEntry[];
    return last?.[0] ?? noId;
  }

  /**
   * Reads the UUIDs of this server's events from an ID on, and the ID of the last one. Events of the server's earlier processes are
   * included.
   */
  async own(fromId: string): Promise<{ uuids: Set<string>; lastId: string | undefined }> {
    const uuids = new Set<string>();
    let lastId: string | undefined;
    for (let start = fromId; ; ) {
      const range = ['XRANGE', this.#keys.stream, start, '+', 'COUNT', String(pageEntries)];
      const entries = (await this.#caller.call(range)) as StreamEntry[];
      for (const entry of entries) {
        if (nodeServerName(streamField(entry, 'node') ?? '') !== nodeServerName(this.#node)) continue;
        const uuid = /"uuid":"([^"]+)"/.exec(streamField(entry, 'event') ?? '')?.[1];
        if (uuid === undefined) continue;
        uuids.add(uuid);
        lastId = entry[0];
      }
      const last = entries.at(-1);
      if (!last || entries.length < pageEntries) return { uuids, lastId };
      start = `(${last[0]}`;
    }
  }
}
