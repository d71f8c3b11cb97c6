import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { writeFileAtomically } from '../lib/disk/durable-files.ts';
import { systemErrorCode } from '../lib/errors.ts';
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

function pathIn(dataFolderPath: string): string {
  return join(dataFolderPath, 'last-reload.json');
}

/** Leaves a report in the data folder. */
export async function writeReloadReport(dataFolderPath: string, report: ReloadReport): Promise<void> {
  await writeFileAtomically(pathIn(dataFolderPath), `${JSON.stringify(report)}\n`, { mode: 0o600 });
}

/** The last report in a data folder; undefined when there is none, or none that can be read. */
export function readReloadReport(dataFolderPath: string): ReloadReport | undefined {
  try {
    return JSON.parse(readFileSync(pathIn(dataFolderPath), 'utf8')) as ReloadReport;
  } catch (error) {
    if (error instanceof SyntaxError || systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
