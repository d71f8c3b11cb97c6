// `npm run build:binary`: makes dist/svc-<platform>, the executable with Node.js inside (a single executable application,
// https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html), for machines without Node.js.
//   node scripts/packages/binary.mjs [--platform linux-x64|linux-arm64|win-x64 …] [--out FOLDER] [--name NAME]
//     [--without-code-cache] [--quiet]
// Without --platform for this machine's. The binary of another platform is not tried here, and has no code cache: that is made by
// the machine that it is for.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { inject } from 'postject';
import { executableOptions } from '../bundle-options.mjs';
import { bundledPackages, licencesOf } from '../bundled-packages.mjs';
import { nodeOf, nodeVersion, platforms, thisPlatform } from './node-binaries.mjs';

/** Where Node.js looks for the mark that says that a script is inside; a constant of Node.js. */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

const { values: options } = parseArgs({
  options: {
    platform: { type: 'string', multiple: true, default: [thisPlatform] },
    out: { type: 'string', default: 'dist' },
    name: { type: 'string' },
    'without-code-cache': { type: 'boolean' },
    quiet: { type: 'boolean' },
  },
});
const unknown = options.platform.filter((name) => !(name in platforms));
if (unknown.length > 0) {
  console.error(`No binary is made for ${unknown.join(', ')}; there are ${Object.keys(platforms).join(', ')}.`);
  process.exit(2);
}
const out = resolve(options.out);
process.chdir(new URL('../..', import.meta.url).pathname);
mkdirSync(out, { recursive: true });
const work = resolve('.cache/binary');
mkdirSync(work, { recursive: true });

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const packages = await bundle(`${work}/svc.cjs`);
for (const platform of options.platform) await makeBinary(platform);

/** The same sources as dist/svc.mjs in CommonJS, which is what a binary runs; its imports of built-in modules are calls of `require`. */
async function bundle(outfile) {
  const { outputFiles, metafile } = await build({
    ...executableOptions,
    outfile,
    format: 'cjs',
    banner: {},
    define: { SVC_VERSION: executableOptions.define.SVC_VERSION },
    supported: { 'dynamic-import': false },
    sourcemap: false,
    write: false,
    metafile: true,
  });
  writeFileSync(outfile, outputFiles[0].text.replace(/^#!.*\n/, ''));
  return bundledPackages(Object.values(metafile.outputs)[0].inputs);
}

async function makeBinary(platform) {
  const node = nodeOf(platform);
  const name = `${out}/${options.name ?? `svc-${platform}${platform.startsWith('win') ? '.exe' : ''}`}`;
  const licenceOfNode = {
    name: 'Node.js',
    version: nodeVersion,
    license: 'MIT and others',
    licenceText: readFileSync(node.licence, 'utf8').trim(),
  };
  writeFileSync(`${work}/licences`, `${licencesOf([licenceOfNode, ...packages], { version })}\n`);
  const unfinished = `${name}.${process.pid}`;
  copyFileSync(node.executable, unfinished);
  chmodSync(unfinished, 0o755);
  await inject(unfinished, 'NODE_SEA_BLOB', blobFor(platform), { sentinelFuse });
  renameSync(unfinished, name);
  if (!options.quiet) console.log(`${name}: ${(statSync(name).size / 1e6).toFixed(0)} MB, Node.js ${nodeVersion}`);
}

/** What a binary has beside Node.js: the script, and the licences as an asset. */
function blobFor(platform) {
  const output = `${work}/${platform}.blob`;
  const config = {
    main: `${work}/svc.cjs`,
    output,
    disableExperimentalSEAWarning: true,
    useCodeCache: platform === thisPlatform && !options['without-code-cache'],
    assets: { licences: `${work}/licences` },
  };
  writeFileSync(`${work}/${platform}.json`, JSON.stringify(config));
  execFileSync(nodeOf(thisPlatform).executable, ['--experimental-sea-config', `${work}/${platform}.json`], { stdio: 'pipe' });
  return readFileSync(output);
}
