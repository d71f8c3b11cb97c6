import { closeSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock, Timer } from '../../../lib/clock.ts';
import { openIfThere } from '../../../lib/disk/descriptors.ts';
import { writeFileAtomically } from '../../../lib/disk/durable-files.ts';
import type { Log } from '../../../lib/log.ts';
import { isSpecialAccount } from '../../event-factory.ts';
import { LineReader } from '../lines.ts';
import { MarksReader } from '../marks.ts';
import { parseEvent } from '../reader.ts';
import { listSegments, type Segment } from '../segments.ts';
import { eventTimeMs } from './event-selection.ts';
import { addKeys, noKeys } from './selection-keys.ts';
import { readFingerprint, Summary, SummaryBuilder, summaryPath } from './summary.ts';

/**
 * Writes the summary of a journal file that is written no more, for example `events-00000001.summary` of `events-00000001.ndjson`.
 *
 * @param pause is waited for after each block of some hundred events
 * @returns whether it was written: not of a file that is gone, or changed meanwhile
 * @throws what writing a file throws, and what `pause` throws
 */
export async function summarise({ number, path }: Segment, pause: () => Promise<void>): Promise<boolean> {
  const fd = openIfThere(path);
  if (fd === undefined) return false;
  let badLines = 0;
  const lines = new LineReader(dirname(path), 'events', () => badLines++);
  try {
    const journal = await readFingerprint(fd);
    const summary = new SummaryBuilder();
    const marks = new MarksReader(path);
    marks.refresh();
    for (let offset = 0; ; ) {
      const block = await lines.next({ segment: number, offset });
      if (block.segment?.number !== number || block.lines.length === 0) break;
      const keys = noKeys();
      let first = Number.POSITIVE_INFINITY;
      let last = Number.NEGATIVE_INFINITY;
      for (const { line, offset: at } of block.lines) {
        const event = parseEvent(line);
        if (typeof event === 'string') {
          badLines++;
          continue;
        }
        first = Math.min(first, eventTimeMs(event));
        last = Math.max(last, eventTimeMs(event));
        addKeys(keys, event, isSpecialAccount(event.account.uuid) ? undefined : marks.groupAt(at));
      }
      const times = first <= last ? { first_ms: first, last_ms: last } : { first_ms: null, last_ms: null };
      summary.add(block.next.offset - offset, times, keys);
      offset = block.next.offset;
      await pause();
    }
    const { journal_bytes, journal_crc32 } = await readFingerprint(fd);
    if (journal_bytes !== journal.journal_bytes || journal_crc32 !== journal.journal_crc32) return false;
    await writeFileAtomically(summaryPath(path), summary.build({ ...journal, bad_lines: badLines }), { mode: 0o600 });
    // Removed past its retention meanwhile.
    if (!existsSync(path)) rmSync(summaryPath(path), { force: true });
    return true;
  } finally {
    lines.close();
    closeSync(fd);
  }
}

/** How often it is looked whether there are files without a summary. */
const lookEveryMs = 10_000;

/** How much longer than it worked it rests: while others have much to do, and while there is little. */
const restWhenBusy = 199;
const restWhenIdle = 4;

/** A piece that took long, as the machine was asleep meanwhile, is no reason to rest for hours. */
const longestRestMs = 10_000;

/** Share of its time that a busy event loop is at work. */
const busyShare = 0.05;

/** What a summary that was being written when the process was killed leaves behind. */
const leftBehind = /^events-\d+\.summary\.[0-9a-f]+\.tmp$/;

export interface SummariserOptions {
  /** Folder of the journal. */
  folder: string;
  clock: Clock;
  log: Log;
}

/**
 * Writes the summaries of the journal files that are written no more, those that are missing, torn or of another version, the newest first.
 * It works in pieces of a few milliseconds and rests between them, so that nobody waits for it: searches are right without summaries, too.
 */
export class Summariser {
  readonly #options: SummariserOptions;
  readonly #timer: Timer;
  readonly #stop = new AbortController();
  /** Files whose summary was looked at, or cannot be written. */
  readonly #settled = new Set<number>();
  #run: Promise<void> | undefined;

  constructor(options: SummariserOptions) {
    this.#options = options;
    const { folder, clock } = options;
    for (const name of readdirSync(folder)) if (leftBehind.test(name)) rmSync(join(folder, name), { force: true });
    this.#timer = clock.every(lookEveryMs, () => this.#look());
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#timer.cancel();
    this.#stop.abort();
    await this.#run;
  }

  #look(): void {
    this.#run ??= this.#summariseAll()
      .catch((error) =>
        this.#options.log.warn('the journal files could not be looked at for summaries; this is tried again', { reason: error }),
      )
      .finally(() => {
        this.#run = undefined;
      });
  }

  async #summariseAll(): Promise<void> {
    const ended = listSegments(this.#options.folder).slice(0, -1).toReversed();
    const numbers = new Set(ended.map(({ number }) => number));
    for (const number of this.#settled) if (!numbers.has(number)) this.#settled.delete(number);
    for (const segment of ended) {
      if (this.#settled.has(segment.number)) continue;
      try {
        if (!(await hasSummary(segment.path))) await summarise(segment, this.#pace());
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#options.log.warn('a journal file has no summary; searches read all of it', { path: segment.path, reason: error });
      }
      this.#settled.add(segment.number);
    }
  }

  /** @returns what rests after a piece of work, in proportion to it */
  #pace(): () => Promise<void> {
    const { clock } = this.#options;
    let beganMs = clock.monotonicMs();
    let rest = restWhenIdle;
    return async () => {
      const before = performance.eventLoopUtilization();
      await clock.sleep(Math.min((clock.monotonicMs() - beganMs) * rest, longestRestMs), this.#stop.signal);
      rest = performance.eventLoopUtilization(before).utilization > busyShare ? restWhenBusy : restWhenIdle;
      beganMs = clock.monotonicMs();
    };
  }
}

async function hasSummary(path: string): Promise<boolean> {
  const journalFd = openIfThere(path);
  if (journalFd === undefined) return false;
  try {
    const summary = await Summary.open(path, journalFd);
    try {
      return (await summary?.isWhole()) ?? false;
    } finally {
      summary?.close();
    }
  } finally {
    closeSync(journalFd);
  }
}
