// Builds the browser scripts of src/web/files/ and src/web/console/: `page.js`, which loads first, and its parts. A part is a module that
// `page.js` loads on demand with `import()`. If a part needs a module that is in `page.js`, it imports the module from there, so that each
// module exists only once. Modules that several parts share, but that are not in `page.js`, become separate files.
import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { build } from 'esbuild';

/** @type {import('esbuild').BuildOptions} */
const commonOptions = {
  bundle: true,
  write: false,
  minify: true,
  format: 'esm',
  target: ['chrome123', 'firefox128', 'safari17.5'],
  charset: 'utf8',
  logLevel: 'warning',
  metafile: true,
};

/**
 * @param {string} main path of the entry module, from which `page.js` is built
 * @param {import('esbuild').Plugin[]} plugins for imports that are not JavaScript
 * @returns the scripts by file name, which import each other by relative path, and esbuild's lists of inputs: one for all scripts together,
 *   and one for each script
 */
export async function pageScripts(main, plugins) {
  const folder = resolve(main, '..');
  const options = { ...commonOptions, absWorkingDir: folder, outdir: folder };
  const parts = new Set();
  const partsApart = onImport('parts-apart', (path, kind) => {
    if (kind !== 'dynamic-import') return undefined;
    parts.add(path);
    return `./${partName(path, folder)}.js`;
  });
  const first = await build({ ...options, entryPoints: [main], plugins: [partsApart, ...plugins] });
  const modules = new Set(Object.keys(first.metafile.inputs).map((path) => resolve(folder, path)));
  const both = [...parts].filter((path) => modules.has(path));
  if (both.length > 0) throw new Error(`The first script contains modules that it loads on demand: ${both}.`);

  const shared = new Set();
  const fromFirst = onImport('from-first', (path) => {
    if (!modules.has(path)) return undefined;
    shared.add(path);
    return './page.js';
  });
  const later = await build({
    ...options,
    // Sorted, because esbuild finds the imports in a different order each time.
    entryPoints: [...parts].sort().map((path) => ({ in: path, out: partName(path, folder) })),
    splitting: true,
    plugins: [fromFirst, wholeTexts, ...plugins],
  });

  const owners = ownersOf(await exportsOf([...shared].sort()));
  // Only what parts import is exported, so that esbuild leaves out what nothing uses.
  const imported = [...new Set(later.outputFiles.flatMap(({ text }) => namesFromFirst(text)))].sort();
  const contents = [`import '${main}';`, ...imported.map((name) => `export { ${name} } from '${owners.get(name)}';`)].join('\n');
  const stdin = { contents, resolveDir: folder };
  const whole = await build({ ...options, stdin, entryNames: 'page', plugins: [partsApart, ...plugins] });
  const files = Object.fromEntries([...whole.outputFiles, ...later.outputFiles].map(({ path, text }) => [basename(path), text]));
  const outputsOf = { ...whole.metafile.outputs, ...later.metafile.outputs };
  const inputsOf = Object.fromEntries(Object.entries(outputsOf).map(([path, { inputs }]) => [basename(path), inputs]));
  return { files, inputs: Object.assign({}, ...Object.values(inputsOf)), inputsOf };
}

/**
 * Returns the name of a part without extension. A file of texts is named after its language (`de`). If its folder is not named like the
 * page's folder, the folder's name is put before the language (`events-de`).
 */
function partName(path, folder) {
  const name = basename(path).replace(/\.(ts|json)$/, '');
  const group = basename(dirname(path));
  return path.endsWith('.json') && group !== basename(folder) ? `${group}-${name}` : name;
}

/** Exports a JSON file only as a whole. By default esbuild also exports each key, which makes a file of texts a third larger. */
const wholeTexts = {
  name: 'whole-texts',
  setup(build) {
    build.onLoad({ filter: /\.json$/ }, async ({ path }) => ({ contents: `export default ${await readFile(path, 'utf8')}`, loader: 'js' }));
  },
};

/**
 * Returns a plugin that calls `choose` for each import by a relative path. If `choose` returns a URL, the import is not bundled, and the
 * browser loads the URL.
 */
function onImport(name, choose) {
  return {
    name,
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
        const url = choose(resolve(resolveDir, path), kind);
        return url === undefined ? undefined : { path: url, external: true };
      });
    },
  };
}

/** @returns the names that each module exports, by the module's path */
async function exportsOf(paths) {
  const { metafile } = await build({ ...commonOptions, bundle: false, entryPoints: paths, outdir: '.', logLevel: 'error' });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [resolve(entryPoint), exports]));
}

/**
 * Returns the module that exports each name.
 *
 * @param modules exported names by module path, for the modules in `page.js` that parts use
 * @throws Error if two modules export the same name, because parts import all names from `page.js`
 */
function ownersOf(modules) {
  const owners = new Map();
  for (const [path, names] of modules)
    for (const name of names) {
      const other = owners.get(name);
      if (other !== undefined) throw new Error(`${other} and ${path} both export ${name}, which a part imports: rename one.`);
      owners.set(name, path);
    }
  return owners;
}

/** Returns the names that a built part imports from `page.js`. */
function namesFromFirst(text) {
  return [...text.matchAll(/import\{([^}]*)\}from"\.\/page\.js"/g)].flatMap(([, names]) =>
    names.split(',').map((name) => name.split(' ', 1)[0]),
  );
}
