import * as z from 'zod';
import { finding } from './finding.ts';

/** What came of a reload; the running service leaves it in its data folder for `svc reload`. Names are those of `--json`. */
export const reloadReport = z.strictObject({
  number: z.int().describe('Counts the reloads of the process, from 1.'),
  pid: z.int(),
  time: z.string().describe('When it began.'),
  reloaded: z.boolean(),
  changes: z.array(z.string()).describe('Paths of the options that changed.'),
  ended: z
    .strictObject({ sessions: z.int(), connections: z.int(), transfers: z.int() })
    // Nodes before do not tell.
    .default({ sessions: 0, connections: 0, transfers: 0 })
    .describe('What ended of those whose account or credential is none any more: sessions, SSH connections, transfers.'),
  /** Why the new configuration was refused; null when it is in force. */
  reason: z.string().nullable(),
  findings: z.array(finding),
});

export type ReloadReport = z.infer<typeof reloadReport>;
