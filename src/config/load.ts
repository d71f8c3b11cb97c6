import { dirname, isAbsolute, resolve } from 'node:path';
import { cosmiconfig } from 'cosmiconfig';
import { z } from 'zod';
import { ServiceError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { ConfigError, type Finding, pathText } from './findings.ts';
import { interpolate } from './interpolate.ts';
import { type Config, configSchema } from './schema.ts';
import { readSource, type Source } from './source.ts';

/** A valid configuration and where it comes from. */
export interface LoadedConfig {
  config: Config;
  /** Absolute path of the file; empty for a configuration made in memory. */
  file: string;
  source: Source | undefined;
}

/** Names under which a configuration is found; YAML and JSON only, a configuration never runs code. */
const searchPlaces = [
  'svc.config.yaml',
  'svc.config.yml',
  'svc.config.json',
  '.svcrc',
  '.svcrc.yaml',
  '.svcrc.yml',
  '.svcrc.json',
  'package.json',
];

/**
 * Finds the configuration file: the named one, `SVC_CONFIG`, or the first of the known names in the folder itself. Parent
 * folders are not searched: a server must not start with a file that somebody put further up.
 *
 * @returns undefined when there is none
 */
export async function findConfigFile(options: {
  file?: string | undefined;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}): Promise<string | undefined> {
  const named = options.file ?? options.env.SVC_CONFIG;
  if (named) return resolve(options.cwd, named);
  // Only the search is cosmiconfig's: `readSource` parses, because it keeps the places of everything.
  const asFound = (_path: string, content: string) => content;
  const explorer = cosmiconfig('svc', {
    searchPlaces,
    searchStrategy: 'none',
    loaders: { '.yaml': asFound, '.yml': asFound, '.json': jsonOrNothing, noExt: asFound },
  });
  const found = await explorer.search(options.cwd);
  return found?.filepath;
}

// A package.json counts only when it has the member `svc`.
function jsonOrNothing(path: string, content: string): unknown {
  if (!path.endsWith('package.json')) return content;
  try {
    return JSON.parse(content) as unknown;
  } catch {
    return null;
  }
}

/**
 * Loads and checks a configuration file.
 *
 * @throws ServiceError `bad-request` when it cannot be read
 * @throws ConfigError with every error at once
 */
export function loadConfigFile(file: string, env: Readonly<Record<string, string | undefined>>): LoadedConfig {
  const source = readSource(file);
  return { config: parseConfig(source, env), file, source };
}

/** Checks a parsed file. @throws ConfigError with every error at once */
export function parseConfig(source: Source, env: Readonly<Record<string, string | undefined>>): Config {
  const folder = dirname(source.file);
  const { value, problems, secretPaths } = interpolate(source.value, env, folder);
  const findings = problems.map((problem) => findingAt(source, problem.path, 'interpolation', problem.message));
  const result = configSchema.safeParse(value);
  if (!result.success) findings.push(...result.error.issues.flatMap((issue) => findingsOf(source, value, issue, [], secretPaths)));
  if (findings.length > 0 || !result.success)
    throw new ConfigError(
      findings.sort((a, b) => a.line - b.line || a.column - b.column),
      source.text,
    );
  resolvePaths(result.data, folder);
  return result.data;
}

/** A configuration made in memory, as `svc serve` without a file does. Relative paths are relative to `folder`. */
export function configFromObject(value: unknown, folder: string): LoadedConfig {
  const config = configSchema.parse(value);
  resolvePaths(config, folder);
  return { config, file: '', source: undefined };
}

function findingAt(source: Source, path: readonly PropertyKey[], code: string, message: string, what: 'key' | 'value' = 'value'): Finding {
  return { severity: 'error', code, file: source.file, ...source.locate(path, what), path: pathText(path), message };
}

function findingsOf(
  source: Source,
  value: unknown,
  issue: z.core.$ZodIssue,
  prefix: readonly PropertyKey[],
  secretPaths: ReadonlySet<string>,
): Finding[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(source, value, path, key));
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nested = bestBranch(issue.errors);
    // Several spellings are one option: the branch that got furthest says what is wrong, unless the union has its own words.
    if (nested.some((inner) => inner.path.length > 0 || inner.code === 'unrecognized_keys')) {
      return nested.flatMap((inner) => findingsOf(source, value, inner, path, secretPaths));
    }
  }
  if (issue.code === 'invalid_key') {
    const key = path.at(-1);
    const reason = issue.issues[0]?.message ?? 'is not allowed';
    return [findingAt(source, path, 'bad-key', `the key "${String(key)}" ${reason}`, 'key')];
  }
  const actual = valueAt(value, path);
  if (actual === undefined && issue.code !== 'custom')
    return [findingAt(source, path, 'missing-option', `is required: ${expectation(issue)}`, 'key')];
  const isSecret = secretPaths.has(path.join('\0'));
  return [
    findingAt(
      source,
      path,
      'bad-value',
      isSecret ? `${expectation(issue)} (the value comes from \${…} and is not shown)` : expectation(issue),
    ),
  ];
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type')
    return `must be a ${issue.expected === 'record' || issue.expected === 'object' ? 'map' : issue.expected}`;
  return issue.message;
}

function bestBranch(branches: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] {
  const depth = (issues: readonly z.core.$ZodIssue[]) => Math.max(...issues.map((issue) => issue.path.length));
  return branches.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? [];
}

function unknownKey(source: Source, value: unknown, path: readonly PropertyKey[], key: string): Finding {
  const known = knownKeys(value, path);
  const nearest = nearestName(key, known);
  const finding = findingAt(source, [...path, key], 'unknown-option', `unknown option "${key}"`, 'key');
  return { ...finding, hint: nearest ? `did you mean "${nearest}"?` : `known: ${known.join(', ')}` };
}

/** Option names that may stand at a path, from the schema. */
function knownKeys(value: unknown, path: readonly PropertyKey[]): string[] {
  let schema: z.core.$ZodType | undefined = configSchema;
  for (const [index, part] of path.entries()) schema = schema && memberSchema(unwrap(schema, valueAt(value, path.slice(0, index))), part);
  const object = schema && unwrap(schema, valueAt(value, path));
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function memberSchema(schema: z.core.$ZodType, part: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return schema.shape[String(part)] as z.core.$ZodType | undefined;
  return schema instanceof z.ZodRecord ? schema.valueType : undefined;
}

/** Looks behind defaults, transforms and unions by `type`. */
function unwrap(schema: z.core.$ZodType, value: unknown): z.core.$ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)
    return unwrap(schema.unwrap() as z.core.$ZodType, value);
  if (schema instanceof z.ZodPipe) return unwrap(schema.in as z.core.$ZodType, value);
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const type = (value as { type?: unknown } | undefined)?.type;
    const options = schema.options as unknown as z.ZodObject[];
    return options.find((option) => (option.shape.type as z.ZodLiteral | undefined)?.value === type) ?? (options[0] as z.ZodObject);
  }
  return schema;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[part];
  }
  return current;
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
    if (service.type === 'monitor') continue;
    service.tls_certificate_path = absolute(service.tls_certificate_path);
    service.tls_key_path = absolute(service.tls_key_path);
    service.tls_client_ca_path = absolute(service.tls_client_ca_path);
  }
  for (const handler of Object.values(config.event_handlers)) handler.ca_certificates_path = absolute(handler.ca_certificates_path);
}

/**
 * Finds and loads the configuration.
 *
 * @throws ServiceError `bad-request` when there is none or it cannot be read; ConfigError when it is not valid
 */
export async function loadConfig(options: {
  file?: string | undefined;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}): Promise<LoadedConfig> {
  const file = await findConfigFile(options);
  if (!file) throw new ServiceError('bad-request', 'No configuration file was found; name one with --config, or make one with "svc init".');
  return loadConfigFile(file, options.env);
}
