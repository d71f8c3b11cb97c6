import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../lib/json.ts';
import { maskedConfig } from './masked-config.ts';
import type { LoadedConfig } from './reading/load.ts';
import type { Config } from './schema/schema.ts';

/** Most changes that are listed one by one. */
const maxListed = 100;

/**
 * The options that differ between two configurations, as paths (`services.web.port`); values are not shown, they may be
 * secrets.
 */
export function changesBetween(before: Config, after: Config): string[] {
  return differences(before, after).map((path) => path.join('.'));
}

/** An option that a reload would change; secrets are masked. */
export interface ShownChange {
  path: string;
  /** Undefined where there is none. */
  old?: unknown;
  new?: unknown;
}

/** The options that differ, with their values; of a secret it is only told that it differs. */
export function shownChanges(before: LoadedConfig, after: LoadedConfig): ShownChange[] {
  const [old, next] = [maskedConfig(before), maskedConfig(after)];
  return differences(before.config, after.config).map((path) => ({
    path: path.join('.'),
    old: shownAt(old, path),
    new: shownAt(next, path),
  }));
}

/** Why a running server cannot take over changes of these options; undefined when it can. */
export function needsRestart(changes: readonly string[]): string | undefined {
  const isFixed = (path: string) => path.startsWith('server.data_folder_path') || path.startsWith('server.state') || path === 'server.uuid';
  return changes.some(isFixed) ? 'data_folder_path, state and uuid of the server only change with a restart.' : undefined;
}

function differences(before: Config, after: Config): string[][] {
  const changes: string[][] = [];
  const compare = (a: unknown, b: unknown, path: string[]): void => {
    if (isDeepStrictEqual(a, b) || changes.length >= maxListed) return;
    if (isObject(a) && isObject(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) compare(a[key], b[key], [...path, key]);
      return;
    }
    changes.push(path);
  };
  compare(before, after, []);
  return changes;
}

/** What is shown at a path: a mask may stand further up. */
function shownAt(masked: unknown, path: readonly string[]): unknown {
  let value = masked;
  for (const name of path) {
    if (!isObject(value)) return value;
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  return value;
}
