import { closeSync, existsSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { openIfThere } from '../../../lib/disk/descriptors.ts';
import { writeFileAtomically } from '../../../lib/disk/durable-files.ts';
import { isSpecialAccount } from '../../event-factory.ts';
import { LineReader } from '../lines.ts';
import { MarksReader } from '../marks.ts';
import { parseEvent } from '../reader.ts';
import type { Segment } from '../segments.ts';
import { timeOf } from './event-selection.ts';
import { addKeys, noKeys } from './selection-keys.ts';
import { fingerprintOf, SummaryBuilder, summaryPath } from './summary.ts';

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
    const journal = await fingerprintOf(fd);
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
        first = Math.min(first, timeOf(event));
        last = Math.max(last, timeOf(event));
        addKeys(keys, event, isSpecialAccount(event.account.uuid) ? undefined : marks.groupAt(at));
      }
      const times = first <= last ? { first_ms: first, last_ms: last } : { first_ms: null, last_ms: null };
      summary.add(block.next.offset - offset, times, keys);
      offset = block.next.offset;
      await pause();
    }
    const { journal_bytes, journal_crc32 } = await fingerprintOf(fd);
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
