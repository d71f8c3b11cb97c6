import { type Command, InvalidArgumentError } from 'commander';
import { eventIds } from '../../events/event-ids.ts';
import type { EventSelection } from '../../events/journal/search/event-selection.ts';
import { positiveNumber } from '../arguments.ts';

/** The options with which both `svc webhook-replay` and `svc events` select events. */
export interface SelectionOptions extends EventSelection {
  failed?: boolean;
  limit?: number;
}

/** Adds the options of a selection to a command. */
export function addSelection(command: Command): Command {
  return command
    .option('--id <ids>', 'only these event IDs, comma-separated; repeatable', collectIds, [])
    .option('--uuid <uuids>', 'only these event UUIDs, comma-separated; repeatable', collectTexts, [])
    .option('--since <time>', 'only events from this time on: ISO 8601, or how long ago: 15m, 2h, 7d', pointInTime)
    .option('--until <time>', 'only events before this time: ISO 8601, or how long ago: 15m, 2h, 7d', pointInTime)
    .option('--failed', 'only events that were not delivered: failed, discarded or never sent')
    .option('--limit <number>', 'only the oldest events, at most this number', positiveNumber);
}

const unitsMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const isoTime = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/i;

/** Reads a time: ISO 8601 (local time if it has no offset), or a duration before now. @returns Unix time in milliseconds */
export function pointInTime(text: string): number {
  const ago = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text.trim());
  if (ago) return performance.timeOrigin + performance.now() - Number(ago[1]) * (unitsMs[ago[2] as string] as number);
  if (isoTime.test(text)) {
    // JavaScript reads a date without a time as midnight UTC, but people mean midnight in local time.
    const time = new Date(text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T').replace(',', '.')).getTime();
    if (!Number.isNaN(time)) return time;
  }
  throw new InvalidArgumentError('It must be a time such as 2026-01-31T12:00, or how long ago, such as 15m, 2h or 7d.');
}

function collectIds(text: string, before: number[]): number[] {
  const ids = text.split(',').map((item) => item.trim());
  if (!ids.every((id) => /^\d+$/.test(id)))
    throw new InvalidArgumentError(
      `It must be event IDs, separated by commas, for example ${eventIds.fileUploaded},${eventIds.uploadFailed}.`,
    );
  return [...before, ...ids.map(Number)];
}

function collectTexts(text: string, before: string[]): string[] {
  return [...before, ...text.split(',').map((item) => item.trim())].filter((item) => item !== '');
}
