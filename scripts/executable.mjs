// How dist/svc.mjs is bundled, beyond what it has in common with the tests (bundle-options.mjs): what a start does not need is neither
// parsed nor loaded by it.
import { writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { build } from 'esbuild';
import { bundleOptions, packed } from './bundle-options.mjs';
import { linkParts } from './parts.mjs';

/** Packages that few starts need: kept packed in the executable, and compiled when the first member of theirs is asked for. */
const packedPackages = ['@fastify/busboy', '@redis/client', 'fast-xml-parser', 're2js'];

/** Modules of Node.js that few starts need: loaded when the first member of theirs is asked for. */
const lateModules = ['node:child_process', 'node:http2', 'node:https', 'node:readline', 'node:tls'];

const packedFilter = new RegExp(`^(${packedPackages.join('|')})$`);

/**
 * Bundles the executable.
 *
 * @param {string} outfile where it goes
 * @param {import('esbuild').Plugin[]} plugins more than the usual ones
 * @returns {Promise<Record<string, { bytesInOutput?: number }>>} the files it is made of, those of packed packages included
 */
export async function bundleExecutable(outfile, plugins = []) {
  const common = {
    ...bundleOptions,
    entryPoints: ['bin/svc.ts'],
    // esbuild keeps the folder in which it was loaded.
    absWorkingDir: process.cwd(),
    metafile: true,
  };
  const names = await importedNames(common, plugins);
  const texts = new Map(await Promise.all(packedPackages.map(async (name) => [name, await pack(name)])));
  const { outputFiles, metafile } = await build({
    ...common,
    plugins: [...plugins, ...bundleOptions.plugins, modulesOfNode(names), packedModules(names, texts)],
    splitting: true,
    outdir: 'parts',
    chunkNames: 'part-[hash]',
    write: false,
    minifySyntax: true,
    minifyWhitespace: true,
    // The licences of all packages are written at the end of the executable.
    legalComments: 'none',
  });
  writeFileSync(outfile, linkParts(outputFiles, metafile, 'svc.js'));
  const inputs = Object.values(metafile.outputs).map((output) => output.inputs);
  return Object.assign({}, ...inputs, ...[...texts.values()].map((one) => one.inputs));
}

/** Which members of modules of Node.js and of packed packages are imported by name: a first, unminified bundle says it. */
async function importedNames(common, plugins) {
  const { outputFiles } = await build({
    ...common,
    plugins: [...plugins, ...bundleOptions.plugins],
    external: [...bundleOptions.external, ...packedPackages],
    write: false,
  });
  const names = new Map();
  for (const [, list, asWritten] of outputFiles[0].text.matchAll(/^import ([^'"]+?) from "([^"]+)";$/gm)) {
    const path = builtinModules.includes(asWritten) ? `node:${asWritten}` : asWritten;
    if (!path.startsWith('node:') && !packedPackages.includes(path)) continue;
    if (list.includes('*')) throw new Error(`import ${list} from ${path}: name what is imported`);
    const known = names.get(path) ?? new Set();
    names.set(path, known);
    const [, first, named] = /^(\w+)?,?\s*(?:\{([^}]*)\})?$/.exec(list.trim());
    if (first) known.add('default');
    for (const name of named?.split(',') ?? []) if (name.trim()) known.add(name.trim().split(/\s+as\s+/)[0]);
  }
  return names;
}

/**
 * Loads modules of Node.js when the first module of svc that imports them runs, not all of them at each start as one ESM file
 * would; their members are plain variables of the bundle. The late ones are loaded when a member is used.
 */
function modulesOfNode(names) {
  return {
    name: 'modules-of-node',
    setup(setup) {
      setup.onResolve({ filter: /^(node:|[a-z/_0-9]+$)/ }, ({ path: asWritten, kind, namespace }) => {
        const path = builtinModules.includes(asWritten) ? `node:${asWritten}` : asWritten;
        if (!path.startsWith('node:')) return undefined;
        if (namespace.endsWith('module-of-node')) return { path, external: true };
        if (kind === 'import-statement' && names.has(path)) return { path, namespace: 'module-of-node', sideEffects: false };
        if (kind === 'require-call' && lateModules.includes(path)) return { path, namespace: 'late-module-of-node' };
        return { path, external: true };
      });
      setup.onLoad({ filter: /.*/, namespace: 'module-of-node' }, ({ path }) => {
        const members = [...names.get(path)].sort();
        if (lateModules.includes(path)) return { contents: lateMembers(`require('${path}')`, members), loader: 'js' };
        const lines = members.map((name) => (name === 'default' ? 'export default loaded;' : `export const ${name} = loaded.${name};`));
        return { contents: `const loaded = require('${path}');\n${lines.join('\n')}`, loader: 'js' };
      });
      setup.onLoad({ filter: /.*/, namespace: 'late-module-of-node' }, async ({ path }) => {
        const members = Object.keys(await import(path)).filter((name) => name !== 'default');
        return { contents: lateMembers(`require('${path}')`, members), loader: 'js' };
      });
    },
  };
}

/** @param {Map<string, { base64: string }>} texts */
function packedModules(names, texts) {
  return {
    name: 'packed-modules',
    setup(setup) {
      setup.onResolve({ filter: packedFilter }, ({ path }) => ({ path, namespace: 'packed-module' }));
      setup.onLoad({ filter: /.*/, namespace: 'packed-module' }, ({ path }) => ({
        contents: `const unpack = () => {
  const text = require('node:zlib').gunzipSync(Buffer.from('${texts.get(path).base64}', 'base64')).toString('latin1');
  const compiled = require('node:vm').compileFunction(text, ['module', 'exports', 'require'], { filename: 'svc:${path}' });
  const own = { exports: {} };
  compiled(own, own.exports, require);
  return own.exports;
};
let unpacked;
${lateMembers('(unpacked ??= unpack())', [...names.get(path)].sort())}`,
        loader: 'js',
      }));
    },
  };
}

function lateMembers(source, members) {
  const getters = members.map((name) => `${name}: { enumerable: true, get: () => ${source}${name === 'default' ? '' : `.${name}`} }`);
  return `Object.defineProperties(exports, { ${getters.join(', ')} });`;
}

/** A package and all that it needs as one text, made to be compiled as a function with `module`, `exports` and `require`. */
async function pack(name) {
  const { outputFiles, metafile } = await build({
    ...bundleOptions,
    entryPoints: [name],
    absWorkingDir: process.cwd(),
    format: 'cjs',
    write: false,
    metafile: true,
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
  });
  return { base64: packed(outputFiles[0].contents), inputs: metafile.inputs };
}
