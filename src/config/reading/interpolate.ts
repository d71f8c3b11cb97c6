import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { readingFault } from '../../lib/disk/named-file.ts';
import { isObject } from '../../lib/json.ts';

export interface Interpolated {
  value: unknown;
  /** Paths (joined with NUL) of texts in which a variable or a file was inserted. Such a text may contain a secret. */
  secretPaths: Set<string>;
  problems: { path: PropertyKey[]; message: string }[];
}

const variable = /\$\{(env|file):([^}]*)\}/g;

/**
 * Replaces environment variables (`${env:NAME}`, `${env:NAME:-default}`) and files with secrets (`${file:PATH}`) in all texts. Other
 * variables, such as `${USER}`, are left unchanged.
 *
 * @param folder base folder for relative paths in `${file:…}`
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
        const isFile = kind !== 'env';
        const message = isFile
          ? `cannot read the file ${argument}: ${readingFault(resolve(folder, argument), error)}`
          : (error as Error).message;
        problems.push({ path, message });
        return '';
      }
    });
  };
  return { value: visit(value, []), secretPaths, problems };
}

/** Whether a text of a configuration refers to an environment variable or a file. */
export function hasReference(text: string): boolean {
  return /\$\{(?:env|file):[^}]*\}/.test(text);
}

function fromEnvironment(argument: string, env: Readonly<Record<string, string | undefined>>): string {
  const separator = argument.indexOf(':-');
  const name = separator < 0 ? argument : argument.slice(0, separator);
  const value = env[name];
  if (value !== undefined && (value !== '' || separator < 0)) return value;
  if (separator >= 0) return argument.slice(separator + 2);
  throw new Error(`the environment variable ${name} is not set; "\${env:${name}:-default}" gives it a default`);
}
