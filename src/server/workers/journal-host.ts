import type { JournalledDispatcher } from '../../events/dispatcher.ts';
import type { ServiceEvent } from '../../events/event.ts';
import type { FileEventLog } from '../../events/journal/file-event-log.ts';
import { recentChanges } from '../../events/recent-changes.ts';
import { type Fault, faultOf } from '../../lib/channel.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Peer } from './peer.ts';
import type { EventBatch, PrimaryApi } from './protocol.ts';

/** The methods that workers call for the journal. */
export type JournalApi = Pick<PrimaryApi, 'appendEvents' | 'eventsWritten' | 'emitAndWait' | 'recentChanges'>;

/** How often a journal that takes no changes is asked again. */
const lookEveryMs = 500;

const newline = 0x0a;

/** Some lines of one group. */
interface Run {
  lines: Buffer;
  first: number;
  count: number;
  /** Null for none, undefined when no event has an account. */
  group: string | null | undefined;
  changes: number[];
}

/** Takes the events of all workers into the journal, and tells them when it takes no changes. */
export class JournalHost {
  readonly #journal: FileEventLog;
  readonly #events: JournalledDispatcher;
  readonly #peers: ReadonlySet<Peer>;
  readonly #timer: Timer;
  #fault: Fault | undefined;

  constructor(journal: FileEventLog, events: JournalledDispatcher, peers: ReadonlySet<Peer>, clock: Clock) {
    this.#journal = journal;
    this.#events = events;
    this.#peers = peers;
    this.#timer = clock.every(lookEveryMs, () => this.#look());
    this.#look();
  }

  /** Why the journal takes no changes at present. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** What workers may call. */
  get api(): JournalApi {
    return {
      appendEvents: (batch) => this.#append(batch),
      // Calls are carried out in order, and events are written before the first wait.
      eventsWritten: () => {},
      emitAndWait: (event, group, handlerUuid) =>
        this.#events.deliverAndWait(JSON.parse(event.toString('utf8')) as ServiceEvent, group, handlerUuid),
      recentChanges: (accountUuid) => recentChanges(this.#journal, accountUuid),
    };
  }

  close(): void {
    this.#timer.cancel();
  }

  async #append(batch: EventBatch): Promise<[number, Fault][]> {
    const failed: [number, Fault][] = [];
    const ends = runsOf(batch).map((run) => this.#appendRun(run, failed));
    this.#look();
    await Promise.all(ends);
    return failed;
  }

  async #appendRun(run: Run, failed: [number, Fault][]): Promise<void> {
    const { lines, count, group, changes } = run;
    let written: Promise<void>;
    try {
      written = this.#journal.appendSerialised(
        lines,
        group,
        changes.length === 0 ? 'reads' : changes.length === count ? 'changes' : 'mixed',
      );
    } catch (error) {
      // Part of it may still fit, above all the changes.
      if (count > 1) {
        await Promise.all(linesOf(run).map((line) => this.#appendRun(line, failed)));
      } else if (changes.length > 0) {
        failed.push([run.first, faultOf(error)]);
      } else {
        this.#journal.noteLost(JSON.parse(lines.toString('utf8')) as ServiceEvent, error);
      }
      return;
    }
    try {
      await written;
    } catch (error) {
      for (const line of changes) failed.push([line, faultOf(error)]);
      this.#look();
    }
  }

  #look(): void {
    const fault = this.#state();
    if (fault?.code === this.#fault?.code && fault?.message === this.#fault?.message) return;
    this.#fault = fault;
    for (const peer of this.#peers) peer.channel.tell('journalState', fault);
  }

  #state(): Fault | undefined {
    try {
      this.#journal.assertWritable();
      return undefined;
    } catch (error) {
      return faultOf(error);
    }
  }
}

/** The pieces of a batch whose accounts are of one group; events without an account go with any. */
function runsOf({ bytes, lines, groups, changes }: EventBatch): Run[] {
  if (groups.length <= 1) return [{ lines: bytes, first: 0, count: lines, group: groups[0]?.[1], changes }];
  const runs: Run[] = [];
  let offset = 0;
  for (const [index, [, group]] of groups.entries()) {
    const first = index === 0 ? 0 : (groups[index] as [number, unknown])[0];
    const last = groups[index + 1]?.[0] ?? lines;
    const start = offset;
    for (let line = first; line < last; line++) offset = bytes.indexOf(newline, offset) + 1;
    runs.push({
      lines: bytes.subarray(start, offset),
      first,
      count: last - first,
      group,
      changes: changes.filter((line) => line >= first && line < last),
    });
  }
  return runs;
}

function linesOf({ lines, first, count, group, changes }: Run): Run[] {
  let offset = 0;
  return Array.from({ length: count }, (_, index) => {
    const start = offset;
    offset = lines.indexOf(newline, start) + 1;
    const line = first + index;
    return { lines: lines.subarray(start, offset), first: line, count: 1, group, changes: changes.filter((change) => change === line) };
  });
}
