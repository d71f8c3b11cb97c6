import { ServiceError } from '../lib/errors.ts';
import type { Finding } from './finding.ts';
import { byPlace, ConfigError } from './findings.ts';
import { type LintOptions, lintConfig } from './lint/lint.ts';
import { type Environment, examineConfig, findConfigFile, type LoadedConfig } from './reading/load.ts';
import { readSource, type Source } from './reading/source.ts';

/** What is wrong with a configuration file, and the configuration when nothing hinders its use. */
export interface Checked {
  /** Undefined when there are errors. */
  loaded: LoadedConfig | undefined;
  file: string;
  /** Text of the file, for showing the line at fault. */
  text: string;
  /** In the order of the file. */
  findings: readonly Finding[];
}

/** How a configuration is checked. */
export type CheckOptions = Omit<LintOptions, 'removed'>;

/**
 * Checks a configuration file in every way: all problems of the schema, of the variables and of the whole, in one run.
 *
 * @param file path, or `-` for stdin
 * @throws ServiceError `bad-request` when it cannot be read
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

/** Checks a parsed file; see `checkConfigFile`. */
export function checkSource(source: Source, env: Environment, options: CheckOptions = {}): Checked {
  const { config, findings, removed } = examineConfig(source, env);
  const loaded = config && { config, file: source.file, source };
  const linted = loaded ? lintConfig(loaded, { removed, ...options }) : [];
  const all = [...findings, ...linted].sort(byPlace);
  const hasErrors = all.some(({ severity }) => severity === 'error');
  return { loaded: hasErrors ? undefined : loaded, file: source.file, text: source.text, findings: all };
}

/** A configuration without errors. */
export interface LoadedSafely {
  loaded: LoadedConfig;
  warnings: readonly Finding[];
  text: string;
}

/** Loads a file that has no errors; see `checkConfigFile`. @throws ConfigError with all that `svc validate` would print when it has */
export function loadConfigFile(file: string, env: Environment, options: CheckOptions = {}): LoadedSafely {
  const { loaded, findings, text } = checkConfigFile(file, env, options);
  if (!loaded) throw new ConfigError(findings, text);
  return { loaded, warnings: findings, text };
}

/** Finds the configuration as `findConfigFile` does. @throws ServiceError `bad-request` when there is none */
export async function requireConfigFile(options: { file?: string | undefined; cwd: string; env: Environment }): Promise<string> {
  const file = await findConfigFile(options);
  if (!file) throw new ServiceError('bad-request', 'No configuration file was found; name one with --config, or make one with "svc init".');
  return file;
}

/**
 * Finds and loads the configuration for a command that serves nothing, and so cannot know how many nodes there are.
 *
 * @throws ServiceError `bad-request` when there is none or it cannot be read; ConfigError when it has errors
 */
export async function loadConfig(options: { file?: string | undefined; cwd: string; env: Environment }): Promise<LoadedConfig> {
  return loadConfigFile(await requireConfigFile(options), options.env, { isFolderShared: true }).loaded;
}
