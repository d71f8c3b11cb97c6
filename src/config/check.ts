import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { defaultGroupUuid } from '../accounts/account.ts';
import { userVariable } from '../accounts/user-names.ts';
import { type Clock, systemClock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest-name.ts';
import { byPosition, ConfigError, pathText, type Report } from './findings.ts';
import { lintAccounts, lintAccountsFiles, lintAdding, lintPermissions } from './lint/lint-accounts.ts';
import { lintExpectations } from './lint/lint-expectations.ts';
import { lintGrants } from './lint/lint-grants.ts';
import { lintHandlers } from './lint/lint-handlers.ts';
import { homeOptionsInForce, lintHomes } from './lint/lint-homes.ts';
import { lintInspections } from './lint/lint-inspections.ts';
import { lintRemotes } from './lint/lint-remotes.ts';
import { lintSecrets } from './lint/lint-secrets.ts';
import { lintAcme, lintAddresses, lintConsoles, lintServices, lintSsh, lintTls } from './lint/lint-services.ts';
import { lintState } from './lint/lint-state.ts';
import { type Environment, examineConfig, findConfigFile, type LoadedConfig } from './reading/load.ts';
import { readSource, type Source } from './reading/source.ts';
import type { Finding, FindingCode } from './report-shapes.ts';
import { type Config, isFileService, isHttpService } from './schema/schema.ts';

interface LintOptions {
  /** Paths that were removed because of errors. Findings that only follow from such a removal are not reported. */
  removed?: readonly (readonly PropertyKey[])[];
  nowMs?: number;
  /**
   * Whether the running server does the check. If so, a pipe is not read, and no error is reported for a host key that the server read as
   * root and can no longer read.
   */
  isRunning?: boolean;
  /** Whether nodes share the data folder, or may share it. The nodes of `--workers` do. */
  isFolderShared?: boolean;
  /**
   * Whether accounts files are also checked, which takes a second for 100,000 accounts. The start of the service does not need this check,
   * because the service reads the files anyway.
   */
  readsAccounts?: boolean;
}

/**
 * Finds problems that the schema cannot find: references to missing entries, unusable files, addresses that are used twice, and risks. If
 * there is an error, `svc serve` does not start.
 */
export function lintConfig(
  loaded: LoadedConfig,
  { removed = [], nowMs = systemClock.nowMs(), isRunning = false, isFolderShared = false, readsAccounts = false }: LintOptions = {},
): Finding[] {
  const findings: Finding[] = [];
  const followsFromRemoved = createGapFilter(removed);
  let hintsLeft = maxHints;
  const add =
    (severity: Finding['severity']): Report['error'] =>
    (code, path, message, hint) => {
      if (followsFromRemoved(code, path, message)) return;
      const place = loaded.source?.locate(path, 'value') ?? { line: 0, column: 0 };
      const text = typeof hint === 'function' ? (hintsLeft-- > 0 ? hint() : undefined) : hint;
      const finding = { severity, code, file: loaded.file, ...place, path: pathText(path), message };
      findings.push(text === undefined ? finding : { ...finding, hint: text });
    };
  const report: Report = { error: add('error'), warning: add('warning') };
  const { config } = loaded;
  if (!Object.values(config.services).some((service) => service.enabled)) report.error('no-service', ['services'], 'no service is enabled');
  lintAddresses(config, report);
  lintTls(config, report, nowMs);
  lintAcme(config, report, nowMs);
  lintSsh(config, report, { isRunning, isFolderShared });
  lintState(config, report, isFolderShared);
  lintInspections(config, report);
  checkReferences(config, report);
  checkFolders(config, report);
  lintServices(config, report);
  lintConsoles(config, report);
  lintRemotes(config, report);
  lintHandlers(config, report);
  lintExpectations(config, report, nowMs);
  lintAccounts(config, report);
  if (readsAccounts) lintAccountsFiles(config, report);
  lintHomes(config, report);
  lintPermissions(config, report);
  lintAdding(config, report);
  lintGrants(config, report);
  lintSecrets(loaded, report);
  return findings.sort(byPosition);
}

/** Maximum number of findings that suggest the nearest name. A suggestion takes long, because it compares a name with all known names. */
const maxHints = 50;

/**
 * Findings that can be mere consequences of an invalid entry that was left out, each with the section of that entry. For example,
 * `no-service` is not reported if an entry of `services` was left out.
 */
const followsFromGap: Partial<Record<FindingCode, string>> = {
  'no-service': 'services',
  'method-unused': 'services',
  'data-filter-never': 'services',
  'accounts-unused': 'authentications',
};

function createGapFilter(removed: readonly (readonly PropertyKey[])[]) {
  const paths = new Set(removed.map(joinPath));
  const wholeEntries = removed.filter((path) => path.length <= 2);
  const sections = new Set(wholeEntries.map(([section]) => section));
  const entries = new Set(wholeEntries.map(([, entry]) => String(entry)));
  return (code: FindingCode, path: readonly PropertyKey[], message: string): boolean => {
    if (path.some((_, index) => paths.has(joinPath(path.slice(0, index + 1))))) return true;
    const section = followsFromGap[code];
    if (section !== undefined && sections.has(section)) return true;
    return code === 'unknown-reference' && entries.has(message.slice(message.indexOf('"') + 1, -1));
  };
}

function joinPath(path: readonly PropertyKey[]): string {
  return path.map(String).join('\0');
}

function checkReferences(config: Config, report: Report): void {
  const groups = new Set([defaultGroupUuid, ...Object.keys(config.groups)]);
  const methods = new Set(Object.keys(config.authentications));
  const handlers = new Set(Object.keys(config.event_handlers));
  const unknown = (kind: string, uuid: string, known: ReadonlySet<string>, path: PropertyKey[]) => {
    report.error('unknown-reference', path, `there is no ${kind} "${uuid}"`, () => didYouMean(uuid, known));
  };
  const needGroup = (uuid: string, path: PropertyKey[]) => {
    if (!groups.has(uuid)) unknown('group', uuid, groups, path);
  };
  for (const [name, account] of Object.entries(config.accounts)) needGroup(account.group, ['accounts', name, 'group']);
  for (const [uuid, method] of Object.entries(config.authentications)) {
    if (method.type === 'anonymous') needGroup(method.group, ['authentications', uuid, 'group']);
  }
  for (const [uuid, service] of Object.entries(config.services)) {
    if (!isFileService(service)) continue;
    for (const [index, method] of (service.authentications ?? []).entries()) {
      if (!methods.has(method)) unknown('authentication method', method, methods, ['services', uuid, 'authentications', index]);
    }
    if (!isHttpService(service)) continue;
    const backend = service.api_backend_uuid;
    const path = ['services', uuid, 'api_backend_uuid'];
    if (backend && !handlers.has(backend)) unknown('event handler', backend, handlers, path);
    else if (backend && config.event_handlers[backend]?.type === 'forward')
      report.error(
        'backend-type',
        path,
        `the event handler "${backend}" forwards files, but uploads can wait only for the reply of a handler of type http`,
      );
    else if (backend && !config.event_handlers[backend]?.enabled)
      report.warning('backend-disabled', path, `the event handler "${backend}" is disabled; uploads get the partial-success headers`);
    for (const [index, trigger] of service.triggers.entries())
      for (const group of trigger.groups) needGroup(group, ['services', uuid, 'triggers', index]);
  }
}

function checkFolders(config: Config, report: Report): void {
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const holders = [
    ...Object.entries(config.groups).map(([uuid, group]) => ({ path: ['groups', uuid], holder: group, group: uuid })),
    ...Object.entries(config.accounts).map(([name, account]) => ({ path: ['accounts', name], holder: account, group: account.group })),
  ];
  for (const { path, holder, group } of holders) {
    const home = holder.home_folder_path;
    if (home && !homeOptionsInForce(config, holder, group).create_home_folder) {
      const needed = home.includes(userVariable) ? dirname(home.slice(0, home.indexOf(userVariable)) + userVariable) : home;
      const problem = `the folder ${needed} does not exist and create_home_folder is off`;
      if (!isFolder(needed)) report.warning('folder-missing', [...path, 'home_folder_path'], problem);
    }
    for (const [index, [, realPath]] of (holder.virtual_folders ?? []).entries()) {
      if (!realPath.includes(userVariable) && !isFolder(realPath))
        report.warning('folder-missing', [...path, 'virtual_folders', index], `the folder ${realPath} does not exist`);
    }
  }
}

/** Time in milliseconds for which the result for an unchanged file is reused. A check can take long, and clients can request it often. */
const holdsForMs = 2000;

/**
 * Creates a check of the configuration file of a running service.
 *
 * @returns the check, which throws ServiceError `bad-request` if the file cannot be read
 */
export function createFileCheck(path: string, env: Environment, clock: Clock, options: CheckOptions): () => Checked {
  let last: { checked: Checked; version: string; atMs: number } | undefined;
  return () => {
    const [version, atMs] = [fileVersion(path), clock.monotonicMs()];
    if (last?.version !== version || atMs - last.atMs >= holdsForMs) last = { checked: checkConfigFile(path, env, options), version, atMs };
    return last.checked;
  };
}

function fileVersion(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats ? `${stats.dev}-${stats.ino}-${stats.size}-${stats.mtimeNs}-${stats.ctimeNs}` : '';
}

export interface Checked {
  /** Undefined if there are errors. */
  loaded: LoadedConfig | undefined;
  file: string;
  /** Text of the file, used to show the faulty lines. */
  text: string;
  /** The findings in the order of the file. */
  findings: readonly Finding[];
}

export type CheckOptions = Omit<LintOptions, 'removed'>;

/**
 * Checks a configuration file completely: its options (by the schema), its references to variables and files, and the rest with
 * `lintConfig`.
 *
 * @param file path, or `-` for stdin
 * @throws ServiceError `bad-request` if the file cannot be read
 */
export function checkConfigFile(file: string, env: Environment, options: CheckOptions = {}): Checked {
  let source: Source;
  try {
    source = readSource(file, !options.isRunning);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { loaded: undefined, file, text: error.source, findings: error.findings };
  }
  return checkSource(source, env, options);
}

/** Does the same as `checkConfigFile`, but for a file that is already parsed. */
export function checkSource(source: Source, env: Environment, options: CheckOptions = {}): Checked {
  const { config, findings, removed } = examineConfig(source, env);
  const loaded = config && { config, file: source.file, source };
  const linted = loaded ? lintConfig(loaded, { removed, ...options }) : [];
  const all = [...findings, ...linted].sort(byPosition);
  const hasErrors = all.some(({ severity }) => severity === 'error');
  return { loaded: hasErrors ? undefined : loaded, file: source.file, text: source.text, findings: all };
}

export interface LoadedSafely {
  loaded: LoadedConfig;
  warnings: readonly Finding[];
  text: string;
}

/** Loads a file that must have no errors. @throws ConfigError with all findings, including warnings */
export function loadConfigFile(file: string, env: Environment, options: CheckOptions = {}): LoadedSafely {
  const { loaded, findings, text } = checkConfigFile(file, env, options);
  if (!loaded) throw new ConfigError(findings, text);
  return { loaded, warnings: findings, text };
}

/** Finds the configuration with `findConfigFile`. @throws ServiceError `bad-request` if there is none */
export async function requireConfigFile(options: { file?: string | undefined; cwd: string; env: Environment }): Promise<string> {
  const file = await findConfigFile(options);
  if (!file)
    throw new ServiceError('bad-request', 'No configuration file was found; name one with --config, or create one with "svc init".');
  return file;
}

/**
 * Finds and loads the configuration for a command that starts no services and does not know how many nodes there are.
 *
 * @throws ServiceError `bad-request` if there is no file, or if the file cannot be read; ConfigError if the configuration has errors
 */
export async function loadConfig(options: { file?: string | undefined; cwd: string; env: Environment }): Promise<LoadedConfig> {
  return loadConfigFile(await requireConfigFile(options), options.env, { isFolderShared: true }).loaded;
}
