import type { Log } from '../../lib/log.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { redisNow, redisScript } from '../../lib/redis/redis-script.ts';
import { maxReportBytes, type NodeReport, readReport } from './node-messages.ts';

/** A node that has said nothing for so long is gone, in milliseconds. */
const goneAfterMs = 10_000;

/** A node that is gone, without having said so, is shown for so long, in milliseconds. */
const keptMs = 600_000;

/** Most nodes that are looked at. */
const maxNodes = 100;

/** KEYS reports, times; ARGV node, report, ms that reports are kept. What is of the future is of before the clock of Redis was set back. */
const tellScript = redisScript(`${redisNow}
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], now, ARGV[1])
for _, range in ipairs({ { '-inf', now - ARGV[3] }, { now + 1, '+inf' } }) do
  for _, node in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], range[1], range[2], 'LIMIT', 0, ${maxNodes})) do
    redis.call('HDEL', KEYS[1], node)
    redis.call('ZREM', KEYS[2], node)
  end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[3]) end`);

/** KEYS reports, times; ARGV most bytes, ms that reports are kept. Returns node, milliseconds since it told, and its report, of one after the other, the latest first. */
const readScript = redisScript(`${redisNow}
local found = {}
local times = redis.call('ZREVRANGEBYSCORE', KEYS[2], now, now - ARGV[2], 'WITHSCORES', 'LIMIT', 0, ${maxNodes})
for index = 1, #times, 2 do
  local node = times[index]
  local isFit = redis.call('HSTRLEN', KEYS[1], node) <= tonumber(ARGV[1])
  table.insert(found, node)
  table.insert(found, tostring(now - times[index + 1]))
  table.insert(found, isFit and redis.call('HGET', KEYS[1], node) or '')
end
return found`);

/** KEYS reports, times; ARGV node. */
const leaveScript = redisScript(`
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])`);

/** A node as it was heard of last. */
export interface ToldNode {
  /** The server of its data folder. */
  uuid: string;
  /** Since it told, in milliseconds, by the clock of Redis. */
  ageMs: number;
  isGone: boolean;
  report: NodeReport;
}

/** Where nodes tell each other how they are. */
export class NodeBoard {
  readonly #link: RedisLink;
  readonly #log: Log;
  /** Nodes whose report was no report the last time. */
  #bad = new Set<string>();

  constructor(link: RedisLink, log: Log) {
    this.#link = link;
    this.#log = log;
  }

  /** Why nodes cannot tell each other anything at present; empty when they can. */
  get silence(): string {
    const check = this.#link.check();
    return check === true ? '' : check;
  }

  /** Tells the others how this node is. @throws ServiceError `unavailable` */
  async tell(uuid: string, report: NodeReport): Promise<void> {
    await this.#link.run(tellScript, this.#keys(), [uuid, textOf(report), keptMs]);
  }

  /** All nodes that told, this one too; a report that is none is left out, and logged. @throws ServiceError `unavailable` */
  async read(): Promise<ToldNode[]> {
    const found = (await this.#link.run(readScript, this.#keys(), [maxReportBytes, keptMs])) as string[];
    const bad = new Set<string>();
    const nodes: ToldNode[] = [];
    for (let index = 0; index < found.length; index += 3) {
      const [uuid = '', age = '', text = ''] = found.slice(index, index + 3);
      const report = readReport(text);
      if (report) nodes.push({ uuid, ageMs: Number(age), isGone: Number(age) > goneAfterMs, report });
      else bad.add(uuid);
    }
    for (const node of bad) if (!this.#bad.has(node)) this.#log.warn('what a node tells of itself is not understood', { node });
    this.#bad = bad;
    return nodes;
  }

  /** Tells the others that this node ends. @throws ServiceError `unavailable` */
  async leave(uuid: string): Promise<void> {
    await this.#link.run(leaveScript, this.#keys(), [uuid]);
  }

  #keys(): string[] {
    return [this.#link.key('node-reports'), this.#link.key('node-times')];
  }
}

/** What is too long is told without the transfers: names of files may be long. */
function textOf(report: NodeReport): string {
  const text = JSON.stringify(report);
  if (Buffer.byteLength(text) <= maxReportBytes) return text;
  return JSON.stringify({ ...report, transfers: [], transfers_left_out: report.transfers_left_out + report.transfers.length });
}
