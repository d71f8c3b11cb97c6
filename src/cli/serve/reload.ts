import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readReloadReport } from '../../config/reload-report.ts';
import type { ReloadReport } from '../../config/report-shapes.ts';
import { systemClock } from '../../lib/clock.ts';
import { peekDataFolder } from '../../lib/disk/data-folder.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { roughConfig, type ServiceOptions } from '../control/service-folder.ts';
import { exitCode, interruptible } from '../exit-codes.ts';
import { complainFindings } from '../findings-output.ts';
import { complain, count, print } from '../output.ts';

/** Options of `svc reload`. */
export interface ReloadOptions extends ServiceOptions {
  timeout: number;
  json?: boolean;
}

/** Interval at which the report is read, in milliseconds. */
const checkEveryMs = 50;

/**
 * Makes a running service read its configuration again, and prints the result.
 *
 * @returns 0 if the service uses the new configuration, 1 if the service keeps the old one, 130 or 143 after a signal
 */
export async function reload(options: ReloadOptions): Promise<number> {
  const folder =
    options.dataFolder === undefined ? (await roughConfig(options)).config.server.data_folder_path : resolve(options.dataFolder);
  const { ownerPid } = peekDataFolder(folder);
  if (ownerPid === undefined) throw new ServiceError('unavailable', `No service is running with the data folder ${folder}.`);
  const askedMs = Math.floor(systemClock.nowMs());
  signal(ownerPid);
  return interruptible(async (abort) => {
    const report = await reportAfter(folder, ownerPid, askedMs, options.timeout, abort);
    if (!report) return exitCode.interrupted;
    if (options.json) print(JSON.stringify(report, null, 2));
    else printReport(report);
    return report.reloaded ? exitCode.done : exitCode.no;
  });
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGHUP');
  } catch (error) {
    const reason = systemErrorCode(error) === 'EPERM' ? 'it belongs to another user' : (error as Error).message;
    throw new ServiceError('unavailable', `The service (process ${pid}) cannot be signalled to reload: ${reason}.`, { cause: error });
  }
}

async function reportAfter(
  folder: string,
  pid: number,
  askedMs: number,
  timeoutS: number,
  abort: AbortSignal,
): Promise<ReloadReport | undefined> {
  const deadlineMs = systemClock.monotonicMs() + timeoutS * 1000;
  for (;;) {
    const report = readReloadReport(folder);
    // The report of an earlier reload may refer to an older version of the configuration file.
    if (report?.pid === pid && Date.parse(report.time) >= askedMs) return report;
    if (peekDataFolder(folder).ownerPid !== pid)
      throw new ServiceError('unavailable', `The service (process ${pid}) ended before it answered.`);
    if (systemClock.monotonicMs() > deadlineMs)
      throw new ServiceError('unavailable', `The service (process ${pid}) did not answer within ${timeoutS} s; see its log.`);
    if (abort.aborted) return undefined;
    await systemClock.sleep(checkEveryMs, abort).catch(() => {});
  }
}

function printReport({ reloaded, changes, ended, reason, findings }: ReloadReport): void {
  if (reloaded) {
    const summary = changes.length === 0 ? 'nothing changed' : count(changes.length, 'change');
    print([`reloaded: ${summary}`, ...changes.map((path) => `  ${path}`), ...endedLines(ended)].join('\n'));
    return;
  }
  complainFindings(findings, readText(findings[0]?.file));
  complain(`svc: The service refused the new configuration and keeps the old one: ${reason}`);
}

function endedLines({ sessions, connections, transfers }: ReloadReport['ended']): string[] {
  if (sessions + connections + transfers === 0) return [];
  const counts = [count(sessions, 'session'), count(connections, 'SSH connection'), count(transfers, 'transfer')];
  return [`ended, because the account or its credential is not valid any more: ${counts.join(', ')}`];
}

function readText(file: string | undefined): string {
  try {
    return file ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}
