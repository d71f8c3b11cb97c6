import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { temporaryFolder } from './support/temp.ts';

type LinkParts = (outputFiles: unknown, metafile: unknown, entryName: string) => string;

async function link(t: TestContext, sources: Record<string, string>): Promise<string> {
  const folder = temporaryFolder(t);
  for (const [name, text] of Object.entries(sources)) writeFileSync(join(folder, name), text);
  const { outputFiles, metafile } = await build({
    entryPoints: [join(folder, 'main.js')],
    bundle: true,
    format: 'esm',
    splitting: true,
    platform: 'node',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    outdir: join(folder, 'parts'),
    chunkNames: 'part-[hash]',
    metafile: true,
    write: false,
  });
  const root = process.env.SVC_ROOT ?? process.cwd();
  const { linkParts } = (await import(pathToFileURL(join(root, 'scripts/parts.mjs')).href)) as { linkParts: LinkParts };
  const path = join(folder, 'linked.mjs');
  writeFileSync(path, linkParts(outputFiles, metafile, 'main.js'));
  return path;
}

test('a linked executable runs its parts when they are asked for, and those parts alone', async (t) => {
  const path = await link(t, {
    'main.js': `#!/usr/bin/env node
import { note, same } from './shared.js';
note('main');
const later = process.argv[2] === 'later' ? await import('./later.js') : undefined;
console.log(JSON.stringify({ notes: same, answer: later?.default(6), accept: later?.accept, name: later?.Thing.name, separator: await later?.separator() }));`,
    'shared.js': `export const same = []; export const note = (text) => void same.push(text);`,
    'other.js': `export { note as write } from './shared.js'; export const twice = (number) => number * 2;`,
    'later.js': `import { write, twice } from './other.js';
write('later');
export default (number) => twice(number) + 30;
export const accept = 'text/html, */*';
export const separator = async () => (await import('node:path')).posix.sep;
export class Thing {}
/*! a legal comment */
export const comment = () => /\\/\\*.*\\*\\//.test('/* */');`,
    'never.js': 'throw new Error();',
  });
  const run = (...args: string[]) => JSON.parse(execFileSync(process.execPath, [path, ...args], { encoding: 'utf8' }));
  assert.deepEqual(run(), { notes: ['main'] });
  assert.deepEqual(run('later'), { notes: ['main', 'later'], answer: 42, accept: 'text/html, */*', name: 'Thing', separator: '/' });
});

test('what cannot be linked is refused when the executable is made', async (t) => {
  for (const counter of [
    'export let count = 0; export const add = () => { count += 1; };',
    'export let count; export const add = () => { count = 1; };',
    'let other = 1, count = 0; export { other, count }; export function add() { for (let i = 0; i < 3; i++) count++; }',
    'export let count = 0; export class Adder { add() { [count] = [1]; } } export const add = () => new Adder().add();',
    'export let count = 0; export const add = () => { ({ a: count = 2 } = {}); };',
    'export let count = 0; export const add = () => { for (count of [1, 2]); };',
  ])
    await assert.rejects(
      link(t, {
        'main.js': `import { count } from './counter.js'; console.log(count); await import('./later.js');`,
        'counter.js': counter,
        'later.js': `import { add } from './counter.js'; add();`,
      }),
      /exports count, which a function of it assigns/,
      counter,
    );
  await assert.rejects(
    link(t, {
      'main.js': `await import('./later.js'); await import('./last.js');`,
      'later.js': `import { where } from './shared.js'; console.log(where);`,
      'last.js': `import { where } from './shared.js'; console.log(where, 1);`,
      'shared.js': 'export const where = import.meta.url;',
    }),
    /keeps .*import\.meta/,
  );
  await assert.rejects(
    link(t, { 'main.js': `await import('./later.js');`, 'later.js': 'export const value = await Promise.resolve(1);' }),
    /await is only valid/,
  );
});
