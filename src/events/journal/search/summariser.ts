import { closeSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Timer } from '../../../lib/clock.ts';
import { openIfThere } from '../../../lib/disk/descriptors.ts';
import { writeFileAtomically } from '../../../lib/disk/durable-files.ts';
import { isSpecialAccount } from '../../event-factory.ts';
import { LineReader, splitLines } from '../lines.ts';
import { MarksReader } from '../marks.ts';
import { parseEvent } from '../reader.ts';
import type { SegmentChainOptions } from '../segment-chain.ts';
import { listSegments, type Segment } from '../segments.ts';
import { eventTimeMs } from './event-selection.ts';
import { addKeys, noKeys } from './selection-keys.ts';
import { readFingerprint, readSummary, SummaryBuilder, summaryPath } from './summary.ts';

/**
 * Writes the summary of a journal file that is no longer appended to, for example `events-00000001.summary` for `events-00000001.ndjson`.
 *
 * @param pause called after each block of some hundred events; the next block begins when the returned promise resolves
 * @returns whether the summary was written; false if the file was removed or changed meanwhile
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
      if (block.segment?.number !== number || block.text.length === 0) break;
      const keys = noKeys();
      const counts: Record<string, number> = {};
      let first = Number.POSITIVE_INFINITY;
      let last = Number.NEGATIVE_INFINITY;
      for (const { line, offset: at } of splitLines(block.text, block.position.offset)) {
        const event = parseEvent(line);
        if (typeof event === 'string') {
          badLines++;
          continue;
        }
        counts[event.id] = (counts[event.id] ?? 0) + 1;
        first = Math.min(first, eventTimeMs(event));
        last = Math.max(last, eventTimeMs(event));
        addKeys(keys, event, isSpecialAccount(event.account.uuid) ? undefined : marks.groupAt(at));
      }
      const times = first <= last ? { first_ms: first, last_ms: last } : { first_ms: null, last_ms: null };
      summary.add(block.next.offset - offset, { ...times, counts }, keys);
      offset = block.next.offset;
      await pause();
    }
    const { journal_bytes, journal_crc32 } = await readFingerprint(fd);
    if (journal_bytes !== journal.journal_bytes || journal_crc32 !== journal.journal_crc32) return false;
    await writeFileAtomically(summaryPath(path), summary.build({ ...journal, bad_lines: badLines }), { mode: 0o600 });
    // Retention may have removed the journal file meanwhile.
    if (!existsSync(path)) rmSync(summaryPath(path), { force: true });
    return true;
  } finally {
    lines.close();
    closeSync(fd);
  }
}

/** Interval at which the summariser looks for missing summaries, in milliseconds. */
const checkEveryMs = 10_000;

/** Ratio of the duration of a rest to that of the work before it, for a busy and for an idle event loop. */
const restWhenBusy = 199;
const restWhenIdle = 4;

/** Maximum duration of a rest, in milliseconds. Without it, a rest could be very long if the machine was suspended during the work. */
const longestRestMs = 10_000;

/** An event loop whose utilisation is above this share is busy. */
const busyShare = 0.05;

/** Names of temporary files that a killed process left. */
const leftBehind = /^events-\d+\.summary\.[0-9a-f]+\.tmp$/;

type SummariserOptions = Pick<SegmentChainOptions, 'folder' | 'clock' | 'log'>;

/**
 * Writes the missing, torn or outdated summaries of journal files that are no longer appended to, newest first. It works for a few
 * milliseconds at a time and rests in between. The work is not urgent, because searches without summaries are only slower.
 */
export class Summariser {
  readonly #options: SummariserOptions;
  readonly #timer: Timer;
  readonly #stop = new AbortController();
  /** Files that need no more work: their summary was checked or written, or it cannot be written. */
  readonly #settled = new Set<number>();
  #run: Promise<void> | undefined;

  constructor(options: SummariserOptions) {
    this.#options = options;
    const { folder, clock } = options;
    for (const name of readdirSync(folder)) if (leftBehind.test(name)) rmSync(join(folder, name), { force: true });
    this.#timer = clock.every(checkEveryMs, () => this.#check());
  }

  async close(): Promise<void> {
    this.#timer.cancel();
    this.#stop.abort();
    await this.#run;
  }

  #check(): void {
    this.#run ??= this.#summariseAll()
      .catch((error) => this.#options.log.warn('the journal files could not be summarised; this is tried again', { reason: error }))
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
        if (!(await readSummary(segment.path, (summary) => summary.isWhole()))) await summarise(segment, this.#pace());
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        this.#options.log.warn('a journal file has no summary; searches read all of it', { path: segment.path, reason: error });
      }
      this.#settled.add(segment.number);
    }
  }

  /** @returns a function that waits for a while after each piece of work */
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
