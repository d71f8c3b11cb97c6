import { type Checked, type CheckOptions, createFileCheck, loadConfigFile } from '../config/check.ts';
import { ConfigError } from '../config/findings.ts';
import type { Environment, LoadedConfig } from '../config/reading/load.ts';
import { stdinName } from '../config/reading/source.ts';
import { writeReloadReport } from '../config/reload-report.ts';
import type { Finding, ReloadReport } from '../config/report-shapes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { nothingEnded } from './listeners.ts';

/** The file from which a server read its configuration. */
export interface ConfigFile {
  /** Path, or `-` for stdin. */
  path: string;
  env: Environment;
  /** Formats a finding for the log. */
  textOf: (finding: Finding) => string;
}

/** Paths of the options that a reload changed, and the numbers of ended sessions, connections and transfers. */
export type Reloaded = Pick<ReloadReport, 'changes' | 'ended'>;

interface ServerFileOptions {
  /** Undefined for a server without a configuration file. */
  file: ConfigFile | undefined;
  running: () => LoadedConfig;
  /** Applies a configuration. */
  apply: (next: LoadedConfig) => Promise<Reloaded>;
  /** Lets another process reload the file for all nodes, including this process. */
  byAnother?: (() => Promise<ReloadReport>) | undefined;
  /** Whether several nodes share the data folder. */
  isFolderShared: boolean;
  clock: Clock;
  log: Log;
}

/** The configuration file of a running server. It can be checked, and its current content can be applied. */
export class ServerFile {
  readonly #options: ServerFileOptions;
  readonly #file: ConfigFile | undefined;
  readonly #checks: CheckOptions;
  readonly #check: (() => Checked) | undefined;
  #number = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ServerFileOptions) {
    this.#options = options;
    const { file, clock, isFolderShared } = options;
    this.#checks = { isRunning: true, isFolderShared };
    // Stdin can be read only once, so it cannot be reloaded.
    this.#file = file?.path === stdinName ? undefined : file;
    this.#check = this.#file && createFileCheck(this.#file.path, this.#file.env, clock, this.#checks);
  }

  /** Path of the configuration file; undefined for a server without one. */
  get path(): string | undefined {
    return this.#file && this.running().file;
  }

  running(): LoadedConfig {
    return this.#options.running();
  }

  checked(): Checked | undefined {
    return this.#check?.();
  }

  /**
   * Applies the file, and reports the result in the log and in the data folder. Reloads run one after the other.
   *
   * @throws the errors of writing the report. If the configuration is refused, the report says so
   */
  async reload(): Promise<ReloadReport> {
    if (this.#options.byAnother) return this.#options.byAnother();
    const report = this.#last.then(() => this.#reload());
    this.#last = report.catch(() => {});
    return report;
  }

  async #reload(): Promise<ReloadReport> {
    const { clock, running } = this.#options;
    const time = new Date(clock.nowMs()).toISOString();
    const outcome = await this.#outcome();
    const report = { number: ++this.#number, pid: process.pid, time, ...outcome };
    await writeReloadReport(running().config.server.data_folder_path, report);
    return report;
  }

  async #outcome(): Promise<Pick<ReloadReport, 'reloaded' | 'changes' | 'ended' | 'reason' | 'findings'>> {
    const { apply, log } = this.#options;
    const file = this.#file;
    if (!file) {
      log.warn('there is no configuration file to reload');
      return { reloaded: false, changes: [], ended: nothingEnded, reason: 'there is no configuration file to reload', findings: [] };
    }
    try {
      const done = await apply(loadConfigFile(file.path, file.env, this.#checks).loaded);
      log.info('configuration reloaded', { ...done });
      return { reloaded: true, ...done, reason: null, findings: [] };
    } catch (error) {
      const findings = error instanceof ConfigError ? [...error.findings] : [];
      log.error('the new configuration is refused; the old one stays', { reason: error, findings: findings.map(file.textOf) });
      return {
        reloaded: false,
        changes: [],
        ended: nothingEnded,
        reason: error instanceof Error ? error.message : String(error),
        findings,
      };
    }
  }
}
