import { hostname } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { ServiceEvent } from '../../../events/event.ts';
import type { Backlog, BadLine, CandidateBlock, EventLog, EventMarks, EventReader, RawReader } from '../../../events/journal/event-log.ts';
import type { FileEventLog } from '../../../events/journal/file-event-log.ts';
import { Growth } from '../../../events/journal/growth.ts';
import { comparePositions, type LogPosition } from '../../../events/journal/position.ts';
import type { EventSelection } from '../../../events/journal/search/event-selection.ts';
import type { Clock, Timer } from '../../../lib/clock.ts';
import { isServiceError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import type { RedisCaller, RedisLink } from '../../../lib/redis/redis-link.ts';
import { redisScript } from '../../../lib/redis/redis-script.ts';
import { Checkpoints } from './checkpoints.ts';
import { EventForwarder } from './forwarder.ts';
import {
  formatStreamId,
  idBefore,
  makeRawBlock,
  newestInStream,
  parseStreamId,
  positionAfter,
  rawStreamReader,
  type StreamEntry,
  StreamReader,
  streamField,
  streamSince,
} from './reader.ts';
import { nodeServerName, trimStream } from './stream.ts';

/** A node stores this record if it notices that the shared journal lost its content. The node's own files still have the lost events. */
const journalLoss = z.object({
  /** Time (ISO 8601) at which the node noticed the loss. */
  at: z.string(),
  host: z.string(),
  data_folder: z.string(),
});
type JournalLoss = z.infer<typeof journalLoss>;

function lossesKey(link: Pick<RedisLink, 'key'>): string {
  return link.key('journal-lost');
}

async function recordLoss(link: Pick<RedisLink, 'key' | 'call'>, server: string, loss: JournalLoss, keptMs: number): Promise<void> {
  await link.call(['HSET', lossesKey(link), server, JSON.stringify(loss)]);
  await link.call(['PEXPIRE', lossesKey(link), String(Math.ceil(keptMs))]);
}

/** Reads the latest loss that each node noticed, from the oldest to the newest. */
export async function readLosses(link: Pick<RedisLink, 'key' | 'call' | 'values'>): Promise<JournalLoss[]> {
  const texts = (await link.call(['HVALS', lossesKey(link)])) as string[];
  const losses = texts.flatMap((text) => link.values.read(lossesKey(link), text, (value) => journalLoss.parse(value)) ?? []);
  return losses.sort((a, b) => (a.at < b.at ? -1 : 1));
}

/** Interval in milliseconds at which a waiting reader looks for events of other nodes. Events of this node wake readers immediately. */
const checkEveryMs = 100;

/** Interval in milliseconds at which events past their retention are removed. */
const trimEveryMs = 600_000;

const dayMs = 86_400_000;

/**
 * KEYS: stream. ARGV: ID. Ensures that later entries get IDs larger than this ID. Otherwise a replica with a slow clock could give new
 * entries IDs that handlers have already passed.
 */
const raiseScript = redisScript(`
local reply = redis.pcall('XADD', KEYS[1], ARGV[1], 'raised', '1')
if type(reply) == 'table' and reply.err then
  if string.find(reply.err, 'equal or smaller', 1, true) then return 0 end
  return reply
end
redis.call('XDEL', KEYS[1], ARGV[1])
return 1`);

export interface RedisEventLogOptions {
  link: RedisLink;
  /** This node's own journal. A request is answered when its event is in this journal. The events are then forwarded to the stream. */
  local: FileEventLog;
  node: string;
  dataFolderPath: string;
  retentionDays: number;
  clock: Clock;
  log: Log;
}

function checkpointsPath(dataFolderPath: string): string {
  return join(dataFolderPath, 'journal-forwarded.json');
}

/** Returns the oldest position in the node's files that may have to be forwarded again, as an earlier process recorded it. */
export function keptSpool(dataFolderPath: string): LogPosition {
  return Checkpoints.open(checkpointsPath(dataFolderPath), { segment: 0, offset: 0 }).neededFrom;
}

export function journalStream(link: Pick<RedisLink, 'key'>): string {
  return link.key('journal');
}

/**
 * The journal of all nodes, which is a Redis stream. Each event is first written to this node's files. A change is confirmed to the client
 * only when its event is on disk there. Then the event is forwarded to the stream. If Redis loses the event, it is forwarded again. While
 * Redis is unreachable, events wait in the files.
 */
export class RedisEventLog implements EventLog {
  readonly #options: RedisEventLogOptions;
  readonly #stream: string;
  readonly #forwarder: EventForwarder;
  readonly #growth = new Growth(() => this.#end);
  readonly #timers: Timer[];
  #end: LogPosition = { segment: 0, offset: 0 };
  #begin: LogPosition | undefined;
  #isChecking = false;

  private constructor(options: RedisEventLogOptions) {
    const { link, local, node, dataFolderPath, retentionDays, clock, log } = options;
    this.#options = options;
    this.#stream = journalStream(link);
    this.#forwarder = new EventForwarder({
      link,
      local,
      node,
      path: checkpointsPath(dataFolderPath),
      keys: { stream: this.#stream, marker: link.key('marker'), counter: link.key('journal-count') },
      clock,
      log,
      onForwarded: (last) => this.#advance(positionAfter(last)),
      onEmptied: () => {
        const at = new Date(clock.nowMs()).toISOString();
        return recordLoss(link, nodeServerName(node), { at, host: hostname(), data_folder: dataFolderPath }, retentionDays * dayMs);
      },
    });
    link.onRecover(async (caller) => {
      await this.#raise(caller);
      if (!this.#begin) await this.#readEnd(caller);
    });
    this.#timers = [
      clock.every(checkEveryMs, () => void this.#check()),
      clock.every(trimEveryMs, () => void trimStream(options, this.#stream)),
    ];
  }

  /** Opens the journal, even if Redis is unreachable. */
  static async open(options: RedisEventLogOptions): Promise<RedisEventLog> {
    const journal = new RedisEventLog(options);
    await journal.#readEnd(options.link).catch(() => {});
    await journal.#forwarder.start();
    return journal;
  }

  get end(): LogPosition {
    return this.#end;
  }

  async findEnd(): Promise<LogPosition> {
    await this.#readEnd(this.#options.link);
    return this.#end;
  }

  since(sinceMs: number | undefined): LogPosition | undefined {
    return streamSince(sinceMs);
  }

  /** The end of the stream when this process first read the stream. Events of this process come after this position. */
  get begin(): LogPosition {
    return this.#begin ?? this.#end;
  }

  /** Whether the stream was emptied. If so, handlers without a position start at the beginning of the stream instead of its end. */
  get wasEmptied(): boolean {
    return this.#forwarder.wasEmptied;
  }

  /** Counts the events in this node's files that are not in the stream or may have been lost there, and finds the oldest of them. */
  spooled(): Promise<Backlog> {
    return this.#options.local.backlog(this.#forwarder.position);
  }

  get forwardedEvents(): number {
    return this.#forwarder.forwardedEvents;
  }

  /** The oldest position of the local files that is still needed. */
  neededFrom(): LogPosition {
    return this.#forwarder.neededFrom;
  }

  append(event: ServiceEvent, marks?: EventMarks): LogPosition | undefined {
    return this.#options.local.append(event, marks);
  }

  appendGrouped(event: ServiceEvent, marks?: EventMarks, dataJson?: string): void {
    this.#options.local.appendGrouped(event, marks, dataJson);
  }

  grouped(): Promise<void> | undefined {
    return this.#options.local.grouped();
  }

  async appendDurable(event: ServiceEvent, marks?: EventMarks, dataJson?: string): Promise<LogPosition | undefined> {
    const forwarded = this.#forwarder.waitFor(event.uuid);
    try {
      await this.#options.local.appendDurable(event, marks, dataJson);
    } catch (error) {
      this.#forwarder.giveUp(event.uuid);
      throw error;
    }
    return forwarded;
  }

  untilShared(): Promise<void> {
    return this.#forwarder.untilForwarded();
  }

  assertWritable(): void {
    this.#options.local.assertWritable();
  }

  async backlog(from: LogPosition): Promise<Backlog> {
    const { link } = this.#options;
    const [first] = (await link.call(['XRANGE', this.#stream, formatStreamId(from), '+', 'COUNT', '1'])) as StreamEntry[];
    const [last] = (await link.call(['XREVRANGE', this.#stream, '+', '-', 'COUNT', '1'])) as StreamEntry[];
    if (!first || !last) return { events: 0, oldestMs: undefined };
    const events = Number(streamField(last, 'number')) - Number(streamField(first, 'number')) + 1;
    // An entry that svc did not write has no number.
    return { events: Number.isFinite(events) ? Math.max(events, 1) : 1, oldestMs: parseStreamId(first[0]).segment };
  }

  sizeBytes(): Promise<number> {
    return this.#options.local.sizeBytes();
  }

  /** Memory in bytes that the stream uses in Redis. @throws ServiceError `unavailable` */
  async streamBytes(): Promise<number> {
    return Number(await this.#options.link.call(['MEMORY', 'USAGE', this.#stream]));
  }

  openReader(onBadLine: (bad: BadLine) => void): EventReader {
    const reader = new StreamReader(this.#options.link, this.#stream, onBadLine);
    return this.#whileThere(reader, (from) => ({ events: [], next: from ?? { segment: 0, offset: 0 } }));
  }

  openRawReader(): RawReader {
    return this.#whileThere(rawStreamReader(this.#options.link, this.#stream), (from) => makeRawBlock([], from));
  }

  #whileThere<From extends LogPosition | undefined, Block extends { next: LogPosition }>(
    reader: { next(from: From): Promise<Block>; close(): void },
    nothing: (from: From) => Block,
  ) {
    return {
      // The events of this node are forwarded before the stream is read, so that readers on this node find them.
      next: async (from: From) => {
        await this.#forwarder.flush();
        try {
          const block = await reader.next(from);
          this.#advance(block.next);
          return block;
        } catch (error) {
          if (!isServiceError(error, 'unavailable')) throw error;
          await this.#options.clock.sleep(checkEveryMs * 2);
          return nothing(from);
        }
      },
      close: () => reader.close(),
    };
  }

  async *newestBlocks(selection: EventSelection, before?: LogPosition): AsyncGenerator<CandidateBlock> {
    await this.#forwarder.flush();
    yield* newestInStream(this.#options.link, this.#stream, selection, before);
  }

  waitForMore(from: LogPosition, signal?: AbortSignal): Promise<void> {
    return this.#growth.beyond(from, signal);
  }

  /**
   * Records the position up to which all handlers have delivered. Earlier events may be removed from the files, because they need not be
   * forwarded again, even if Redis is emptied.
   */
  noteDelivered(delivered: LogPosition): void {
    this.#forwarder.noteDelivered(delivered);
  }

  flushNow(): void {
    this.#options.local.flushNow();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    await this.#forwarder.close();
    this.#growth.close();
    await this.#options.local.close();
  }

  #advance(end: LogPosition): void {
    if (comparePositions(end, this.#end) <= 0) return;
    this.#end = end;
    this.#growth.wake();
  }

  async #raise(caller: RedisCaller): Promise<void> {
    const last = idBefore(this.#end);
    if (last !== '0-0') await caller.run(raiseScript, [this.#stream], [last]);
  }

  async #check(): Promise<void> {
    if (this.#isChecking || !this.#growth.isAwaited || !this.#options.link.isReady) return;
    this.#isChecking = true;
    await this.#readEnd(this.#options.link).catch(() => {});
    this.#isChecking = false;
  }

  async #readEnd(caller: Pick<RedisCaller, 'call'>): Promise<void> {
    const [last] = (await caller.call(['XREVRANGE', this.#stream, '+', '-', 'COUNT', '1'])) as StreamEntry[];
    if (last) this.#advance(positionAfter(parseStreamId(last[0])));
    this.#begin ??= this.#end;
  }
}
