import { comparePositions, type LogPosition } from '../../../events/journal/position.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import type { RedisLink } from '../../../lib/redis/redis-link.ts';
import { positionAfterId } from './reader.ts';

/** Events that a handler has not delivered are spared for so many times the retention. */
const sparedRetentions = 2;

const dayMs = 86_400_000;

/** Removes events past their retention from a stream, but for those that a handler still has to deliver. */
export async function trimStream(
  { link, clock, retentionDays, log }: { link: RedisLink; clock: Clock; retentionDays: number; log: Log },
  stream: string,
): Promise<void> {
  if (!link.isReady) return;
  try {
    const oldestMs = clock.nowMs() - retentionDays * dayMs;
    const spareMs = Math.max(oldestMs - (sparedRetentions - 1) * retentionDays * dayMs, 0);
    const positions = [...(await readGroups(link, stream)).values()];
    const needed = positions.sort(comparePositions)[0]?.segment ?? oldestMs;
    await link.call(['XTRIM', stream, 'MINID', '~', String(Math.floor(Math.max(Math.min(oldestMs, needed), spareMs)))]);
  } catch (error) {
    log.warn('events past their retention could not be removed', { reason: error });
  }
}

/** Where the consumer groups of a stream stand: the position that each handler goes on from. */
export async function readGroups(link: Pick<RedisLink, 'call'>, stream: string): Promise<Map<string, LogPosition>> {
  let groups: unknown[][];
  try {
    groups = (await link.call(['XINFO', 'GROUPS', stream])) as unknown[][];
  } catch (error) {
    // There is no stream yet.
    if (/no such key/i.test(String((error as Error).cause))) return new Map();
    throw error;
  }
  return new Map(
    groups.map((group) => {
      const member = (name: string) => String(group[group.indexOf(name) + 1]);
      return [member('name'), positionAfterId(member('last-delivered-id'))];
    }),
  );
}
