import { ConfigError } from '../../config/findings.ts';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { Server } from '../../server/server.ts';
import { Excerpts, findingText } from '../output.ts';
import { type ReloadReport, writeReloadReport } from './reload-report.ts';

/**
 * Reloads the configuration at each SIGHUP, one reload after the other, and reports what came of it in the log and in the
 * data folder.
 *
 * @param readAgain reads the configuration; undefined without a file
 */
export function reloadOnSignal(service: Server, log: Log, dataFolderPath: string, readAgain: (() => LoadedConfig) | undefined): void {
  let number = 0;
  let last: Promise<void> = Promise.resolve();
  const reload = async () => {
    const time = new Date(systemClock.nowMs()).toISOString();
    const outcome = await reloadOnce(service, log, readAgain);
    const report = { number: ++number, pid: process.pid, time, ...outcome };
    await writeReloadReport(dataFolderPath, report);
  };
  process.on('SIGHUP', () => {
    last = last.then(reload).catch((error) => log.error('the report of the reload cannot be written', { reason: error }));
  });
}

type Outcome = Pick<ReloadReport, 'reloaded' | 'changes' | 'reason' | 'findings'>;

async function reloadOnce(service: Server, log: Log, readAgain: (() => LoadedConfig) | undefined): Promise<Outcome> {
  if (!readAgain) {
    log.warn('there is no configuration file to reload');
    return { reloaded: false, changes: [], reason: 'there is no configuration file to reload', findings: [] };
  }
  try {
    const changes = await service.reload(readAgain());
    log.info('configuration reloaded', { changes });
    return { reloaded: true, changes, reason: null, findings: [] };
  } catch (error) {
    const findings = error instanceof ConfigError ? [...error.findings] : [];
    const noExcerpts = new Excerpts('');
    const texts = findings.map((finding) => findingText(finding, noExcerpts, process.stderr));
    log.error('the new configuration is refused; the old one stays', { reason: error, findings: texts });
    return { reloaded: false, changes: [], reason: error instanceof Error ? error.message : String(error), findings };
  }
}
