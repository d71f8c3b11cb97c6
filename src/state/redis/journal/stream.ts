import type { LoggedEvent } from '../../../events/journal/event-log.ts';
import type { RedisCaller } from '../../../lib/redis/redis-link.ts';
import { redisScript } from '../../../lib/redis/redis-script.ts';
import { noId } from './checkpoints.ts';
import { fieldOf, type StreamEntry } from './reader.ts';

/** Entries read at once while looking for what the stream has already. */
const pageEntries = 1000;

/*
 * Whether the stream still has what it had up to an ID: the data is that of the marker, and the entry is there, or all entries up to it
 * were trimmed. What a server that was killed, or another that took over, does not have is always what came last.
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
 * KEYS stream, marker, counter; ARGV expected marker, last own ID, node, then event, group and waiting handler of each. Adds all or none;
 * entries are numbered in a row, so that what lies between two of them is known without counting. Returns their IDs, or false when the
 * stream is not what it was.
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

/** The keys of the journal's stream. */
export interface StreamKeys {
  stream: string;
  /** Has a value of its own for the data of each Redis: one that was emptied gets another. */
  marker: string;
  counter: string;
}

/** The stream as the one who writes into it knows it. */
export interface KnownStream {
  marker: string;
  /** An entry of it; all entries of the node are there up to this one. */
  lastId: string;
}

/** The server that a node's name belongs to: each of its processes adds eight digits of its own. */
export function serverOf(node: string): string {
  return node.replace(/\.[0-9a-f]{8}$/, '');
}

/** The journal's stream, for the one who writes into it. */
export class StreamWriter {
  readonly #caller: RedisCaller;
  readonly #keys: StreamKeys;
  readonly #node: string;

  constructor(caller: RedisCaller, keys: StreamKeys, node: string) {
    this.#caller = caller;
    this.#keys = keys;
    this.#node = node;
  }

  /** Adds events, all or none. @returns their IDs; undefined when the stream is not what it was: then nothing was added */
  async add(events: readonly LoggedEvent[], known: KnownStream): Promise<string[] | undefined> {
    const { stream, marker, counter } = this.#keys;
    const values = events.flatMap(({ raw, group, takenBy }) => [raw, group ?? '', takenBy ?? '']);
    const ids = await this.#caller.run(addScript, [stream, marker, counter], [known.marker, known.lastId, this.#node, ...values]);
    return (ids as string[] | null) ?? undefined;
  }

  async isWhole({ marker, lastId }: KnownStream): Promise<boolean> {
    return (await this.#caller.run(wholeScript, [this.#keys.stream, this.#keys.marker], [marker, lastId])) === 1;
  }

  /** Whether an entry is there. */
  async has(id: string): Promise<boolean> {
    return id === noId || ((await this.#caller.call(['XRANGE', this.#keys.stream, id, id])) as unknown[]).length > 0;
  }

  /** The ID of the last entry; `0-0` when there is none. */
  async lastId(): Promise<string> {
    const [last] = (await this.#caller.call(['XREVRANGE', this.#keys.stream, '+', '-', 'COUNT', '1'])) as StreamEntry[];
    return last?.[0] ?? noId;
  }

  /** The UUIDs of the events of this node's server from an ID on, also of its earlier processes, and the ID of the last of them. */
  async own(fromId: string): Promise<{ uuids: Set<string>; lastId: string | undefined }> {
    const uuids = new Set<string>();
    let lastId: string | undefined;
    for (let start = fromId; ; ) {
      const range = ['XRANGE', this.#keys.stream, start, '+', 'COUNT', String(pageEntries)];
      const entries = (await this.#caller.call(range)) as StreamEntry[];
      for (const entry of entries) {
        if (serverOf(fieldOf(entry, 'node') ?? '') !== serverOf(this.#node)) continue;
        const uuid = /"uuid":"([^"]+)"/.exec(fieldOf(entry, 'event') ?? '')?.[1];
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
