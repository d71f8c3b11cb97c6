import * as z from 'zod';
import { finding } from './finding.ts';

/** What came of a reload; the running service leaves it in its data folder for `svc reload`. Names are those of `--json`. */
export const reloadReport = z.strictObject({
  number: z.int().describe('Counts the reloads of the process, from 1.'),
  pid: z.int(),
  time: z.string().describe('When it began.'),
  reloaded: z.boolean(),
  changes: z.array(z.string()).describe('Paths of the options that changed.'),
  /** Why the new configuration was refused; null when it is in force. */
  reason: z.string().nullable(),
  findings: z.array(finding),
});

export type ReloadReport = z.infer<typeof reloadReport>;
