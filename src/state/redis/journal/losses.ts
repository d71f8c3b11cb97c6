import * as z from 'zod';
import type { RedisLink } from '../../../lib/redis/redis-link.ts';

/** That a node found the shared journal emptied, and where its own files have what was lost. */
const journalLoss = z.object({
  /** Time (ISO 8601) at which the node found it. */
  at: z.string(),
  host: z.string(),
  /** The node's data folder there. */
  data_folder: z.string(),
});
export type JournalLoss = z.infer<typeof journalLoss>;

function lossesKey(link: Pick<RedisLink, 'key'>): string {
  return link.key('journal-lost');
}

/** @param keptMs for so long the shared journal would have had the events */
export async function noteLoss(link: Pick<RedisLink, 'key' | 'call'>, server: string, loss: JournalLoss, keptMs: number): Promise<void> {
  await link.call(['HSET', lossesKey(link), server, JSON.stringify(loss)]);
  await link.call(['PEXPIRE', lossesKey(link), String(Math.ceil(keptMs))]);
}

/** What nodes noted, the latest of each. */
export async function readLosses(link: Pick<RedisLink, 'key' | 'call' | 'values'>): Promise<JournalLoss[]> {
  const texts = (await link.call(['HVALS', lossesKey(link)])) as string[];
  const losses = texts.flatMap((text) => link.values.read(lossesKey(link), text, (value) => journalLoss.parse(value)) ?? []);
  return losses.sort((a, b) => (a.at < b.at ? -1 : 1));
}
