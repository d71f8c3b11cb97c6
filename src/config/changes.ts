import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../lib/json.ts';
import type { Config } from './schema/schema.ts';

/** Most changes that are listed one by one. */
const mostListed = 100;

/**
 * The options that differ between two configurations, as paths (`services.web.port`); values are not shown, they may be
 * secrets.
 */
export function changesBetween(before: Config, after: Config): string[] {
  const changes: string[] = [];
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (isDeepStrictEqual(a, b) || changes.length >= mostListed) return;
    if (isObject(a) && isObject(b)) {
      for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) compare(a[key], b[key], path === '' ? key : `${path}.${key}`);
      return;
    }
    changes.push(path);
  };
  compare(before, after, '');
  return changes;
}
