// Patches packages, to mend faults that are not yet fixed upstream, and to remove large parts that svc does not use. The patches are
// scripts/patches/PACKAGE/*.diff (a `+` in PACKAGE stands for `/`). They are applied in the order of their names, to the files in the
// bundle and never to node_modules. If a patch does not apply, the build fails, so that no release lacks a patch.
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./patches/', import.meta.url);

/**
 * Reads a unified diff, which may begin with free text.
 *
 * @param {string} diff
 * @returns {{ file: string, hunks: { at: number, before: string[], after: string[] }[] }[]} the changes, by file
 */
export function parseDiff(diff) {
  const files = [];
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const file = /^\+\+\+ b\/(.+)$/.exec(line)?.[1];
    if (file) {
      files.push({ file, hunks: [] });
      continue;
    }
    const hunks = files.at(-1)?.hunks;
    const start = /^@@ -(\d+)/.exec(line)?.[1];
    if (start) hunks?.push({ at: Number(start) - 1, before: [], after: [] });
    const hunk = hunks?.at(-1);
    if (!hunk || start || line.startsWith('--- ')) continue;
    if (line[0] !== '+') hunk.before.push(line.slice(1));
    if (line[0] !== '-') hunk.after.push(line.slice(1));
  }
  return files;
}

/**
 * Applies hunks to a text. Lines and line numbers must match exactly.
 *
 * @throws Error, which names the first line that does not match
 */
export function applyHunks(text, hunks) {
  const lines = text.split('\n');
  let shift = 0;
  for (const { at, before, after } of hunks) {
    const start = at + shift;
    const wrong = before.findIndex((line, index) => lines[start + index] !== line);
    if (wrong >= 0) throw new Error(`line ${start + wrong + 1} is not "${before[wrong]}"`);
    lines.splice(start, before.length, ...after);
    shift += after.length - before.length;
  }
  return lines.join('\n');
}

/** Returns all changes of all patches, each with the package, the name of the diff, the file in the package, and the hunks. */
function allPatches() {
  return readdirSync(folder).flatMap((own) =>
    readdirSync(new URL(`${own}/`, folder))
      .filter((diff) => diff.endsWith('.diff'))
      .sort()
      .flatMap((diff) => {
        const changes = parseDiff(readFileSync(new URL(`${own}/${diff}`, folder), 'utf8'));
        return changes.map((change) => ({ name: own.replace('+', '/'), diff: `${own}/${diff}`, ...change }));
      }),
  );
}

/**
 * The patches that were applied in this process, to the main bundle or to the worker for password hashes. The main bundle contains the
 * worker as a separate, compressed bundle.
 */
const applied = new Set();

/**
 * Applies the patches to the files that a bundle loads.
 *
 * @param {boolean} all whether every patched file must be in the bundle
 * @returns {import('esbuild').Plugin}
 */
export function patchedPackages(all) {
  return {
    name: 'patched-packages',
    setup(build) {
      const patches = allPatches();
      const names = [...new Set(patches.map(({ name }) => name))].join('|');
      build.onLoad({ filter: new RegExp(`/node_modules/(${names})/.*\\.js$`) }, ({ path }) => {
        const own = patches.filter(({ name, file }) => path.endsWith(`/node_modules/${name}/${file}`));
        if (own.length === 0) return undefined;
        let contents = readFileSync(path, 'utf8');
        for (const { diff, file, hunks } of own) {
          try {
            contents = applyHunks(contents, hunks);
          } catch (error) {
            return { errors: [{ text: `scripts/patches/${diff} does not apply: ${error.message}`, location: { file: path } }] };
          }
          applied.add(`${diff} (${file})`);
        }
        return { contents, loader: 'js' };
      });
      build.onEnd(({ errors }) => {
        const unused = patches.map(({ diff, file }) => `${diff} (${file})`).filter((name) => !applied.has(name));
        if (!all || errors.length > 0 || unused.length === 0) return undefined;
        return { errors: [{ text: `these patches change no file in the bundle: ${unused.join(', ')}` }] };
      });
    },
  };
}
