import assert from 'node:assert/strict';
import { join } from 'node:path';
import { FileEventLog, journalFolder } from '../../src/events/journal/file-event-log.ts';
import { comparePositions, type LogPosition } from '../../src/events/journal/position.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { RedisClient } from '../../src/lib/redis/redis-connector.ts';
import type { RedisCaller } from '../../src/lib/redis/redis-link.ts';
import type { RedisScript } from '../../src/lib/redis/redis-script.ts';
import { EventForwarder } from '../../src/state/redis/journal/forwarder.ts';
import { parseStreamId, positionAfter, StreamReader } from '../../src/state/redis/journal/reader.ts';
import { readAll, testEvent } from '../contracts/event-log.ts';
import { ManualClock } from './manual-clock.ts';

const keys = { stream: '{svc}:journal', marker: '{svc}:marker', counter: '{svc}:journal-count' };

/** An event that affects a node, its connection to Redis, or Redis itself. */
export type Mishap =
  | { kind: 'append'; count: number }
  /** The connection breaks at a later command, before or after the command is executed. */
  | { kind: 'cut'; isDone: boolean; after: number }
  | { kind: 'pass'; seconds: number }
  | { kind: 'restart' }
  /** FLUSHALL. The connection does not report it, and another node may notice it first. */
  | { kind: 'empty'; isMarked: boolean }
  /** Redis is killed and loses the writes of the last second. */
  | { kind: 'kill' }
  /** The handlers deliver some of the events in the stream. */
  | { kind: 'deliver'; share: number };

interface Block {
  ids: string[];
  texts: string[];
  atMs: number;
}

/** A connection to Redis that breaks when a test wants it. `beat` restores the connection. */
class BreakingLink implements RedisCaller {
  readonly #client: RedisClient;
  readonly #onAdded: (ids: string[], texts: string[]) => void;
  readonly #hooks: ((caller: RedisCaller) => Promise<void>)[] = [];
  #break: { isDone: boolean; after: number } | undefined;
  #asking = 0;
  isReady = false;
  isOver = false;
  marker: string | undefined;

  constructor(client: RedisClient, onAdded: (ids: string[], texts: string[]) => void) {
    this.#client = client;
    this.#onAdded = onAdded;
  }

  get isAsking(): boolean {
    return this.#asking > 0;
  }

  breakLater(breaks: { isDone: boolean; after: number }): void {
    this.#break = { ...breaks };
  }

  doubt(): void {
    this.isReady = false;
  }

  onRecover(hook: (caller: RedisCaller) => Promise<void>): void {
    this.#hooks.push(hook);
  }

  /** Sends a heartbeat. If the marker is missing or different, Redis was emptied. */
  async beat(): Promise<void> {
    if (this.isReady && (await this.#client.send(['GET', keys.marker])) !== this.marker) this.isReady = false;
    if (!this.isReady && !this.isOver) await this.#recover();
  }

  async #recover(): Promise<void> {
    await this.#client.send(['SET', keys.marker, `marker ${Math.random()}`, 'NX']);
    this.marker = String(await this.#client.send(['GET', keys.marker]));
    for (const hook of this.#hooks) await hook(this);
    this.isReady = true;
  }

  call(command: (string | Buffer)[]): Promise<unknown> {
    return this.#command(() => this.#client.send(command));
  }

  run(script: RedisScript, names: readonly string[], args: readonly (string | number | Buffer)[]): Promise<unknown> {
    return this.#command(async () => {
      const values = args.map((arg) => (typeof arg === 'number' ? String(arg) : arg));
      const reply = await this.#client.send(['EVAL', script.text, String(names.length), ...names, ...values]);
      const texts = args.flatMap((arg) => /"text":"(\d+)"/.exec(String(arg))?.[1] ?? []);
      if (Array.isArray(reply)) this.#onAdded(reply as string[], texts);
      return reply;
    });
  }

  async #command(send: () => Promise<unknown>): Promise<unknown> {
    this.#asking++;
    try {
      return await this.#sendOrBreak(send);
    } finally {
      this.#asking--;
    }
  }

  async #sendOrBreak(send: () => Promise<unknown>): Promise<unknown> {
    if (!this.isReady || this.isOver) throw new ServiceError('unavailable', 'away');
    if (!this.#break || this.#break.after-- > 0) return send();
    const { isDone } = this.#break;
    this.#break = undefined;
    if (isDone) await send();
    this.isReady = false;
    throw new ServiceError('unavailable', 'cut');
  }
}

/** A node whose journal is forwarded from its disk to a real Redis. The node has its own clock. */
export class ForwardedNode {
  readonly #client: RedisClient;
  readonly #folder: string;
  readonly #blocks: Block[] = [];
  #count = 0;
  /** Number of events that all handlers have delivered, and the position in the stream after them. */
  #delivered = 0;
  #deliveredTo: LogPosition = { segment: 0, offset: 0 };
  #clock = new ManualClock();
  #link!: BreakingLink;
  #local!: FileEventLog;
  #forwarder!: EventForwarder;

  constructor(client: RedisClient, folder: string) {
    this.#client = client;
    this.#folder = folder;
  }

  async start(): Promise<void> {
    const clock = this.#clock;
    const onAdded = (ids: string[], texts: string[]) => this.#blocks.push({ ids, texts, atMs: clock.monotonicMs() });
    this.#link = new BreakingLink(this.#client, onAdded);
    const folder = journalFolder(this.#folder);
    this.#local = new FileEventLog({ folder, maximumFileSizeBytes: 5000, retentionDays: 30, clock, log: silentLog });
    this.#forwarder = new EventForwarder({
      link: this.#link,
      local: this.#local,
      node: 'n1.0000000a',
      path: join(this.#folder, 'forwarded.json'),
      keys,
      clock,
      log: silentLog,
      onForwarded: () => {},
      onEmptied: async () => {},
    });
    await this.#forwarder.start();
  }

  async suffer(mishap: Mishap): Promise<void> {
    if (mishap.kind === 'append') for (let index = 0; index < mishap.count; index++) this.#local.append(testEvent(String(this.#count++)));
    else if (mishap.kind === 'cut') this.#link.breakLater(mishap);
    else if (mishap.kind === 'pass') await this.pass(mishap.seconds * 1000);
    else if (mishap.kind === 'restart') await this.#restart();
    else if (mishap.kind === 'empty') await this.#empty(mishap.isMarked);
    else if (mishap.kind === 'kill') await this.#kill();
    else await this.#deliver(mishap.share);
  }

  /** Lets time pass. At each half second, the connection is restored if it is broken, and the handlers report their position. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      this.#clock.advance(Math.min(500, ms - passed));
      await this.#link.beat();
      this.#forwarder.noteDelivered(this.#deliveredTo);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  /** Lets time pass until everything has been forwarded. */
  async drain(): Promise<void> {
    await this.pass(1500);
    // Everything was forwarded if several rounds are quiet. In a single quiet round, a forwarder may be waiting before it asks Redis again.
    let quietRounds = 0;
    for (let round = 0; round < 1000; round++) {
      await this.pass(500);
      const isDone = this.#link.isReady && !this.#link.isAsking && comparePositions(this.#forwarder.position, this.#local.end) === 0;
      quietRounds = isDone ? quietRounds + 1 : 0;
      if (quietRounds === 10) return;
    }
    assert.fail('not all events were forwarded');
  }

  /** Asserts that every event is in the stream once and in order. Delivered events may be missing if Redis lost them. */
  async check(): Promise<void> {
    await this.drain();
    const found = (await this.#entries()).map(({ text }) => Number(text));
    assert.equal(new Set(found).size, found.length, `an event is in the stream twice: ${found.join(' ')}`);
    assert.deepEqual(
      found,
      [...found].sort((a, b) => a - b),
      'the events are in order',
    );
    const undelivered = Array.from({ length: this.#count - this.#delivered }, (_, index) => this.#delivered + index);
    assert.deepEqual(
      undelivered.filter((number) => !found.includes(number)),
      [],
      'no undelivered event is missing',
    );
  }

  /**
   * Asserts that an emptied Redis gets the undelivered events again, and with them the events that were sent together with the first
   * undelivered one.
   */
  async checkEmptied(): Promise<void> {
    await this.drain();
    await this.pass(3000);
    const first = this.#blocks.findLast(({ texts }) => texts.includes(String(this.#delivered)))?.texts[0] ?? String(this.#count);
    await this.#client.send(['FLUSHALL']);
    this.#local.append(testEvent(String(this.#count++)));
    await this.drain();
    const found = (await this.#entries()).map(({ text }) => Number(text));
    assert.equal(found[0], Number(first));
    this.#deliveredTo = { segment: 0, offset: 0 };
    await this.check();
  }

  async end(): Promise<void> {
    await this.drain();
    const closed = this.#forwarder.close();
    await this.pass(1000);
    await closed;
    await this.#local.close();
  }

  // As after a kill, the new process knows only the data that the old one has written to files.
  async #restart(): Promise<void> {
    this.#link.isOver = true;
    this.#link.isReady = false;
    await this.#local.close();
    const nowMs = this.#clock.monotonicMs();
    this.#clock = new ManualClock();
    this.#clock.advance(nowMs - this.#clock.monotonicMs());
    await this.start();
  }

  async #empty(isMarked: boolean): Promise<void> {
    await this.#client.send(['FLUSHALL']);
    this.#deliveredTo = { segment: 0, offset: 0 };
    if (isMarked) await this.#client.send(['SET', keys.marker, `marker ${Math.random()}`]);
  }

  async #kill(): Promise<void> {
    this.#link.doubt();
    const young = this.#blocks.filter(({ atMs }) => this.#clock.monotonicMs() - atMs < 1000).flatMap(({ ids }) => ids);
    const entries = await this.#entries();
    const lost = entries.filter(({ id }) => young.includes(id));
    if (lost.length === entries.length) await this.#client.send(['DEL', keys.stream]);
    else if (lost.length > 0) await this.#client.send(['XDEL', keys.stream, ...lost.map(({ id }) => id)]);
  }

  async #deliver(share: number): Promise<void> {
    const entries = await this.#entries();
    const last = entries[Math.floor(entries.length * share) - 1];
    // Handlers continue at their own positions, even if these are older than the data that Redis still has.
    if (!last || Number(last.text) < this.#delivered) return;
    this.#delivered = Number(last.text) + 1;
    this.#deliveredTo = positionAfter(parseStreamId(last.id));
  }

  async #entries(): Promise<{ id: string; text: string }[]> {
    const reader = new StreamReader({ call: (command) => this.#client.send(command) }, keys.stream, () => assert.fail('bad line'));
    const logged = await readAll({ openReader: () => reader });
    return logged.map(({ event, position }) => ({ id: `${position.segment}-${position.offset}`, text: String(event.data.text) }));
  }
}
