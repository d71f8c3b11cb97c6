import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../lib/disk/durable-files.ts';
import { systemErrorCode } from '../lib/errors.ts';
import type { ReloadReport } from './report-shapes.ts';

function pathIn(dataFolderPath: string): string {
  return join(dataFolderPath, 'last-reload.json');
}

/** Writes the report of a reload to the data folder. */
export async function writeReloadReport(dataFolderPath: string, report: ReloadReport): Promise<void> {
  await writeFileAtomically(pathIn(dataFolderPath), `${JSON.stringify(report)}\n`, { mode: 0o600 });
}

/** Reads the report of the last reload from a data folder. @returns undefined if there is none, or if it is not JSON */
export function readReloadReport(dataFolderPath: string): ReloadReport | undefined {
  try {
    return JSON.parse(readFileSync(pathIn(dataFolderPath), 'utf8')) as ReloadReport;
  } catch (error) {
    if (error instanceof SyntaxError || systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
