import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isObject } from '../../lib/json.ts';

/** What `interpolate` did. */
export interface Interpolated {
  value: unknown;
  /** Paths (joined with NUL) whose texts were replaced: their values may be secrets and are never shown. */
  secretPaths: Set<string>;
  problems: { path: PropertyKey[]; message: string }[];
}

const variable = /\$\{(env|file):([^}]*)\}/g;

/**
 * Puts environment variables (`${env:NAME}`, `${env:NAME:-default}`) and secrets' files (`${file:PATH}`) into all texts.
 * `${USER}` and everything else stays as it is.
 *
 * @param folder what relative paths of `${file:…}` are relative to
 */
export function interpolate(value: unknown, env: Readonly<Record<string, string | undefined>>, folder: string): Interpolated {
  const secretPaths = new Set<string>();
  const problems: Interpolated['problems'] = [];
  const visit = (node: unknown, path: PropertyKey[]): unknown => {
    if (Array.isArray(node)) return node.map((item, index) => visit(item, [...path, index]));
    if (isObject(node)) return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, visit(item, [...path, key])]));
    if (typeof node !== 'string' || !node.includes('${')) return node;
    return node.replace(variable, (_, kind: string, argument: string) => {
      secretPaths.add(path.join('\0'));
      try {
        return kind === 'env' ? fromEnvironment(argument, env) : readFileSync(resolve(folder, argument), 'utf8').replace(/\r?\n$/, '');
      } catch (error) {
        problems.push({
          path,
          message: kind === 'env' ? (error as Error).message : `cannot read the file ${argument}: ${(error as Error).message}`,
        });
        return '';
      }
    });
  };
  return { value: visit(value, []), secretPaths, problems };
}

/** Whether a text as it stands in a configuration asks for a variable or a file. */
export function hasReference(text: string): boolean {
  return /\$\{(?:env|file):[^}]*\}/.test(text);
}

function fromEnvironment(argument: string, env: Readonly<Record<string, string | undefined>>): string {
  const mark = argument.indexOf(':-');
  const name = mark < 0 ? argument : argument.slice(0, mark);
  const value = env[name];
  if (value !== undefined && (value !== '' || mark < 0)) return value;
  if (mark >= 0) return argument.slice(mark + 2);
  throw new Error(`the environment variable ${name} is not set; "\${env:${name}:-default}" gives it a default`);
}
