import { type BackendDelivery, noteChange, SinkDispatcher } from '../../events/dispatcher.ts';
import type { EventDraft, EventServer, ServiceEvent } from '../../events/event.ts';
import { isSpecialAccount } from '../../events/event-factory.ts';
import { eventJson } from '../../events/event-json.ts';
import type { EventMarks, EventSink } from '../../events/journal/event-log.ts';
import { errorOf, type Fault } from '../../lib/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import type { EventBatch, ToPrimary } from './protocol.ts';

/** A batch is sent before the end of the turn when it has this much text. */
const largestBatchCharacters = 512 * 1024;

/** Batches in a row, without changes, whose arrival nobody is told of. */
const mostUntold = 16;

/** Characters in a row whose arrival nobody is told of. */
const mostUntoldCharacters = 1024 * 1024;

/** With more than this on the way to the primary process, new requests wait, in characters. */
const congestedCharacters = 16 * 1024 * 1024;

interface Waiting {
  line: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Batch {
  texts: string[];
  characters: number;
  groups: EventBatch['groups'];
  waiting: Waiting[];
  /** Whether somebody wants to know when it is written. */
  isAwaited: boolean;
}

/**
 * The journal in a worker: events are serialised here and sent to the primary process, those of one turn of the event loop as one
 * message.
 */
export class JournalClient implements EventSink {
  readonly #primary: ToPrimary;
  #batch: Batch | undefined;
  #fault: Fault | undefined;
  #underWay = 0;
  /** What went out since the last batch that is answered. */
  #untold = { batches: 0, characters: 0 };
  #waitingForRoom: (() => void)[] = [];
  /** Batches sent so far, and how many of them are known to be written. */
  #sent = 0;
  #confirmed = 0;
  /** Those who wait for so many batches to be written, in order. */
  readonly #asked: { sent: number; written: Promise<void>; resolve: () => void }[] = [];

  /** @param fault why the journal takes no changes at present */
  constructor(primary: ToPrimary, fault: Fault | undefined) {
    this.#primary = primary;
    this.#fault = fault;
  }

  /** Sends an event; it is written within moments and synced within 100 ms of that. */
  append(event: ServiceEvent, marks: EventMarks): undefined {
    this.#add(event, marks);
  }

  appendGrouped(event: ServiceEvent, marks: EventMarks, dataJson?: string): void {
    this.#add(event, marks, dataJson);
  }

  appendDurable(event: ServiceEvent, marks: EventMarks): Promise<undefined> {
    return new Promise((resolve, reject) => {
      const { batch, line } = this.#add(event, marks);
      batch.waiting.push({ line, resolve: () => resolve(undefined), reject });
    });
  }

  /** Resolves once all events so far are written; undefined when they are. Never rejects. */
  grouped(): Promise<void> | undefined {
    const batch = this.#batch;
    const sent = batch ? this.#sent + 1 : this.#sent;
    if (this.#confirmed >= sent) return undefined;
    const last = this.#asked.at(-1);
    if (last?.sent === sent) return last.written;
    if (batch) batch.isAwaited = true;
    else this.#confirmWith(sent, this.#primary.call('eventsWritten'));
    let resolve = () => {};
    const written = new Promise<void>((done) => {
      resolve = done;
    });
    this.#asked.push({ sent, written, resolve });
    return written;
  }

  assertWritable(): void {
    if (this.#fault) throw errorOf(this.#fault);
  }

  /** Takes over whether the primary process can record changes. */
  noteState(fault: Fault | undefined): void {
    this.#fault = fault;
  }

  /** Undefined while the primary process keeps up; else resolves once it does again. */
  congestion(): Promise<void> | undefined {
    if (this.#underWay < congestedCharacters) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  /** Sends what waits for the end of the turn. */
  flush(): void {
    const batch = this.#batch;
    if (!batch) return;
    this.#send(batch);
    this.#primary.flush();
  }

  // While one batch is on its way the next gathers: the busier the server, the fewer messages.
  #endTurn(): void {
    const [first] = this.#asked;
    if (first === undefined || first.sent > this.#sent) this.flush();
  }

  #add(event: ServiceEvent, { group = undefined }: EventMarks, dataJson?: string): { batch: Batch; line: number } {
    if (!this.#batch) {
      this.#batch = { texts: [], characters: 0, groups: [], waiting: [], isAwaited: false };
      setImmediate(() => this.#endTurn());
    }
    const batch = this.#batch;
    const text = eventJson(event, dataJson);
    const line = batch.texts.push(text) - 1;
    if (!isSpecialAccount(event.account.uuid)) {
      const last = batch.groups.at(-1);
      if (!last || last[1] !== (group ?? null)) batch.groups.push([line, group ?? null]);
    }
    batch.characters += text.length;
    if (batch.characters > largestBatchCharacters) queueMicrotask(() => this.#batch === batch && this.flush());
    return { batch, line };
  }

  #send({ texts, characters, groups, waiting, isAwaited }: Batch): void {
    this.#batch = undefined;
    const sent = ++this.#sent;
    this.#underWay += characters;
    const changes = waiting.map(({ line }) => line);
    const batch: EventBatch = { bytes: Buffer.from(`${texts.join('\n')}\n`), lines: texts.length, groups, changes };
    const { batches } = this.#untold;
    this.#untold = { batches: batches + 1, characters: this.#untold.characters + characters };
    // An answer says that all before it has come, too.
    const isAnswered = isAwaited || waiting.length > 0 || batches >= mostUntold || this.#untold.characters > mostUntoldCharacters;
    if (!isAnswered) {
      this.#primary.tell('appendEvents', batch);
      return;
    }
    const answered = this.#call(batch, waiting);
    // Reads need not wait for the sync that changes wait for.
    this.#confirmWith(sent, isAwaited && waiting.length > 0 ? this.#primary.call('eventsWritten') : answered);
  }

  /** @param answered once it settles, so many batches are written; or the primary process is gone, and nobody is left to wait for */
  #confirmWith(sent: number, answered: Promise<unknown>): void {
    const confirm = () => {
      this.#confirmed = Math.max(this.#confirmed, sent);
      const open = this.#asked.findIndex((asked) => asked.sent > this.#confirmed);
      for (const { resolve } of this.#asked.splice(0, open < 0 ? this.#asked.length : open)) resolve();
      // Behind the replies that this lets go, so that what they tell comes along.
      if (this.#batch) setImmediate(() => this.#endTurn());
    };
    answered.then(confirm, confirm);
  }

  async #call(batch: EventBatch, waiting: readonly Waiting[]): Promise<void> {
    const { characters } = this.#untold;
    this.#untold = { batches: 0, characters: 0 };
    try {
      const faults = new Map(await this.#primary.call('appendEvents', batch));
      for (const { line, resolve, reject } of waiting) {
        const fault = faults.get(line);
        if (fault) reject(errorOf(fault));
        else resolve();
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    } finally {
      this.#underWay -= characters;
      if (this.#underWay < congestedCharacters) for (const resolve of this.#waitingForRoom.splice(0)) resolve();
    }
  }
}

/** Makes the events of a worker. */
export class WorkerDispatcher extends SinkDispatcher {
  readonly #journal: JournalClient;
  readonly #primary: ToPrimary;

  constructor(journal: JournalClient, primary: ToPrimary, server: EventServer, clock: Clock) {
    super(journal, server, clock);
    this.#journal = journal;
    this.#primary = primary;
  }

  async emitAndWait(draft: EventDraft, handlerUuid: string): Promise<{ event: ServiceEvent; delivery: BackendDelivery }> {
    noteChange(draft.context.request);
    const event = this.create(draft);
    // Events of before come before it in the journal.
    this.#journal.flush();
    const raw = Buffer.from(JSON.stringify(event));
    return { event, delivery: await this.#primary.call('emitAndWait', raw, draft.context.group, handlerUuid) };
  }
}
