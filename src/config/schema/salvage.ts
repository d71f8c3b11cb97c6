import type { z } from 'zod';
import { type Config, configSchema } from './schema.ts';
import { valueAt } from './schema-findings.ts';

/** Each round removes at least one thing; more rounds than this help nobody. */
const mostRounds = 20;

/**
 * What is left of a configuration that does not fit the schema when everything wrong is left out, so that the checks behind
 * the schema run all the same and all problems are told in one run.
 *
 * @returns the rest with the paths that were left out; no `config` when the value is beyond help
 */
export function salvage(value: unknown): { config: Config | undefined; removed: PropertyKey[][] } {
  const rest = structuredClone(value);
  const removed: PropertyKey[][] = [];
  for (let round = 0; round < mostRounds; round++) {
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
  // An option that is not there, or a whole entry that is not what its name says, takes the entry with it.
  if (valueAt(rest, path) === undefined) return [path.slice(0, 2)];
  // Sections and entries are two deep (`services.web`); what is wrong deeper is one option of the entry.
  return [path[0] === 'server' ? path.slice(0, 3) : path.at(-1) === 'type' ? path.slice(0, 2) : path.slice(0, 3)];
}

function remove(root: unknown, path: readonly PropertyKey[]): boolean {
  const last = path.at(-1) as PropertyKey;
  const holder = valueAt(root, path.slice(0, -1));
  if (typeof holder !== 'object' || holder === null) return false;
  // Two issues may be about one option; the second finds it gone.
  return Reflect.deleteProperty(holder, last);
}
