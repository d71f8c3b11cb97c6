import { dirname, isAbsolute, resolve } from 'node:path';
import { cosmiconfig } from 'cosmiconfig';
import type { z } from 'zod';
import { byPosition, ConfigError } from '../findings.ts';
import type { Finding } from '../report-shapes.ts';
import { type Config, configSchema, isHttpService } from '../schema/schema.ts';
import { findingAt, issueFindings, valueAt } from '../schema/schema-findings.ts';
import { interpolate } from './interpolate.ts';
import { type Source, stdinName } from './source.ts';

/** Maximum number of rounds in `salvage`. Each round removes at least one option. */
const maxRounds = 20;

/**
 * Removes the parts of a configuration that do not match the schema, so that later checks can run and all problems are reported together.
 *
 * @returns the valid part and the removed paths; `config` is undefined if too little is valid
 */
function salvage(value: unknown): { config: Config | undefined; removed: PropertyKey[][] } {
  const rest = structuredClone(value);
  const removed: PropertyKey[][] = [];
  for (let round = 0; round < maxRounds; round++) {
    const result = configSchema.safeParse(rest);
    if (result.success) return { config: result.data, removed };
    for (const path of result.error.issues.flatMap((issue) => pathsAtFault(rest, issue))) {
      if (path.length === 0 || !remove(rest, path)) return { config: undefined, removed };
      removed.push(path);
    }
  }
  return { config: undefined, removed };
}

function pathsAtFault(rest: unknown, issue: z.core.$ZodIssue): PropertyKey[][] {
  const { path } = issue;
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [...path, key]);
  // If a required option is missing, its whole entry is removed.
  if (valueAt(rest, path) === undefined) return [path.slice(0, 2)];
  // Entries are at depth two (`services.web`), and their options are below. If `type` is wrong, the whole entry is removed.
  return [path[0] === 'server' ? path.slice(0, 3) : path.at(-1) === 'type' ? path.slice(0, 2) : path.slice(0, 3)];
}

function remove(root: unknown, path: readonly PropertyKey[]): boolean {
  const last = path.at(-1) as PropertyKey;
  const holder = valueAt(root, path.slice(0, -1));
  if (typeof holder !== 'object' || holder === null) return false;
  // Two issues may be about the same option. `deleteProperty` also returns true if the option was already removed for the other issue.
  return Reflect.deleteProperty(holder, last);
}

/** A valid configuration and its source. */
export interface LoadedConfig {
  config: Config;
  /** Absolute path of the file; empty for a configuration created in memory. */
  file: string;
  source: Source | undefined;
}

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Names of configuration files. All of them are YAML or JSON, because a configuration must never run code. */
const searchPlaces = 'svc.config.yaml svc.config.yml svc.config.json .svcrc .svcrc.yaml .svcrc.yml .svcrc.json package.json'.split(' ');

/**
 * Finds the configuration file: the named file (`-` is stdin), or the file in `SVC_CONFIG`, or the first known name in the folder. Parent
 * folders are not searched, so that a server never starts with a file that belongs to somebody else.
 *
 * @returns undefined if there is none
 */
export async function findConfigFile(options: { file?: string | undefined; cwd: string; env: Environment }): Promise<string | undefined> {
  const named = options.file ?? options.env.SVC_CONFIG;
  if (named === stdinName) return named;
  if (named) return resolve(options.cwd, named);
  // cosmiconfig only finds the file. `readSource` parses it, because the positions of all options are needed.
  const asFound = (_path: string, content: string) => content;
  const explorer = cosmiconfig('svc', {
    searchPlaces,
    searchStrategy: 'none',
    loaders: { '.yaml': asFound, '.yml': asFound, '.json': jsonOrNothing, noExt: asFound },
  });
  const found = await explorer.search(options.cwd);
  return found?.filepath;
}

// package.json is parsed here, so that cosmiconfig ignores it if it has no member `svc`.
function jsonOrNothing(path: string, content: string): unknown {
  if (!path.endsWith('package.json')) return content;
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return null;
  }
}

/** Validates a parsed file. @throws ConfigError with all errors */
export function parseConfig(source: Source, env: Environment): Config {
  const { config, findings } = examineConfig(source, env);
  if (findings.length > 0 || !config) throw new ConfigError(findings, source.text);
  return config;
}

export interface Examined {
  /** The valid part of the configuration; undefined if too little is valid. */
  config: Config | undefined;
  /** Problems that the schema found, and problems with variables, sorted by their position in the file. */
  findings: Finding[];
  /** Paths of invalid options, which `config` does not contain, and paths of texts whose variables could not be replaced. */
  removed: PropertyKey[][];
}

// Without `jitless`, Zod compiles the schema. That takes longer than the check of one configuration.
const once = { jitless: true };

/** Checks a parsed file against the schema and returns its valid part for later checks. */
export function examineConfig(source: Source, env: Environment): Examined {
  const folder = dirname(source.file);
  const { value, problems, secretPaths } = interpolate(source.value, env, folder);
  const findings = problems.map((problem) => findingAt(source, problem.path, 'interpolation', problem.message));
  const result = configSchema.safeParse(value, once);
  // If a variable in a text could not be replaced, the text already has a finding, and is not reported again as a bad value.
  const filled = new Set(problems.map(({ path }) => path.join('\0')));
  const issues = result.error?.issues.filter((issue) => !filled.has(issue.path.join('\0'))) ?? [];
  findings.push(...issues.flatMap((issue) => issueFindings(source, value, issue, [], secretPaths)));
  const salvaged = result.success ? { config: result.data, removed: problems.map(({ path }) => path) } : salvage(value);
  if (salvaged.config) resolvePaths(salvaged.config, folder);
  return { ...salvaged, findings: findings.sort(byPosition) };
}

/** Creates a configuration in memory, for `svc serve` without a file. @param folder base folder for relative paths */
export function configFromObject(value: unknown, folder: string): LoadedConfig {
  const config = configSchema.parse(value, once);
  resolvePaths(config, folder);
  return { config, file: '', source: undefined };
}

function resolvePaths(config: Config, folder: string): void {
  const absolute = (path: string) => (path === '' || isAbsolute(path) ? path : resolve(folder, path));
  config.server.data_folder_path = absolute(config.server.data_folder_path);
  config.server.state.ca_certificates_path = absolute(config.server.state.ca_certificates_path);
  for (const method of Object.values(config.authentications)) {
    if (method.type === 'http') method.ca_certificates_path = absolute(method.ca_certificates_path);
    if (method.type === 'application') method.accounts_file_path = absolute(method.accounts_file_path);
  }
  for (const holder of [...Object.values(config.groups), ...Object.values(config.accounts)]) {
    if (holder.home_folder_path) holder.home_folder_path = absolute(holder.home_folder_path);
    holder.virtual_folders = holder.virtual_folders?.map(([path, realPath]) => [path, absolute(realPath)]);
  }
  for (const service of Object.values(config.services)) {
    if (service.type === 'ssh') service.host_key_paths = service.host_key_paths.map(absolute);
    if (!isHttpService(service) && service.type !== 'console') continue;
    if (service.tls.acme) service.tls.acme.ca_certificates_path = absolute(service.tls.acme.ca_certificates_path);
    service.tls_certificate_path = absolute(service.tls_certificate_path);
    service.tls_key_path = absolute(service.tls_key_path);
    service.tls_client_ca_path = absolute(service.tls_client_ca_path);
    if (isHttpService(service)) service.appearance.logo_path = absolute(service.appearance.logo_path);
  }
  for (const expectation of Object.values(config.expectations)) expectation.holidays = absolute(expectation.holidays);
  for (const handler of Object.values(config.event_handlers)) {
    handler.ca_certificates_path = absolute(handler.ca_certificates_path);
    if (handler.type !== 'forward') continue;
    handler.key_path = absolute(handler.key_path);
    handler.known_hosts_path = absolute(handler.known_hosts_path);
  }
}
