import { FileEventLog, journalFolder } from '../../src/events/journal/file-event-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { RedisEventLog } from '../../src/state/redis/journal/redis-event-log.ts';
import { readAll } from '../contracts/event-log.ts';

/** The journal of one node. */
export function openJournal(link: RedisLink, folder: string, node = 'n1'): Promise<RedisEventLog> {
  const local = new FileEventLog({
    folder: journalFolder(folder),
    maximumFileSizeBytes: 1_000_000,
    retentionDays: 30,
    clock: systemClock,
    log: silentLog,
  });
  return RedisEventLog.open({ link, local, node, dataFolderPath: folder, retentionDays: 30, clock: systemClock, log: silentLog });
}

/** The texts of all its events. */
export async function journalTexts(log: RedisEventLog): Promise<string[]> {
  return (await readAll(log)).map(({ event }) => String(event.data.text));
}

/** The numbers from one to below another, as texts. */
export function row(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}
