import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestServer } from './server.ts';

/** Returns the tree below a folder: files with their content, and folders with a slash. */
export function tree(folder: string, below = ''): Record<string, string> {
  const result: Record<string, string> = {};
  for (const entry of readdirSync(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) Object.assign(result, { [`${path}/`]: '' }, tree(folder, path));
    else result[path] = readFileSync(join(folder, path), 'utf8');
  }
  return result;
}

/** Creates files (path, content) and folders (a path with a slash) in the home folder. */
export function plant(server: TestServer, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    if (path.endsWith('/')) mkdirSync(join(server.home, path), { recursive: true });
    else writeFileSync(join(server.home, path), content);
  }
}

/** A small home folder. The content of each file is its name in capitals. */
export const smallTree = { a: 'A', b: 'B', 'd/': '', 'd/x': 'X', 'd/sub/': '', 'd/sub/y': 'Y', 'e/': '', 'e/z': 'Z' };
