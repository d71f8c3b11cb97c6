// Builds three files. The same sources always give the same bytes.
// - dist/svc.mjs: one executable file that needs only Node.js. It ends with the licences of everything in it
// - dist/svc.mjs.map: its source map, for `node --enable-source-maps`
// - dist/sbom.json: the list of the packages in it (CycloneDX)
//   node scripts/build.mjs [--quiet] [--out FOLDER]
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { executableOptions } from './bundle-options.mjs';
import { bundledPackages, licenceComment, licencesOf, sbomOf } from './bundled-packages.mjs';

/** Maximum size in bytes; a larger file fails the build. A single file is only useful if it is small enough to be copied easily. */
const budgetBytes = 4_760_000;

const { quiet, out } = parseArgs({ options: { quiet: { type: 'boolean' }, out: { type: 'string' } } }).values;
const outFolder = out === undefined ? 'dist' : resolve(out);
const outfile = `${outFolder}/svc.mjs`;
process.chdir(new URL('..', import.meta.url).pathname);
mkdirSync(outFolder, { recursive: true });
const { outputFiles, metafile } = await build({ ...executableOptions, outfile, write: false, metafile: true });
const { inputs } = Object.values(metafile.outputs).find(({ entryPoint }) => entryPoint !== undefined);
const packages = bundledPackages(inputs);
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const licences = licenceComment(licencesOf(packages, { version }));
for (const { path, text } of outputFiles) place(path, path.endsWith('.map') ? text : text + licences);
place(`${outFolder}/sbom.json`, sbomOf(packages, version));

const bytes = readFileSync(outfile);
const sizeBytes = bytes.length;
if (!quiet) report(inputs);
if (sizeBytes > budgetBytes) {
  console.error(`build: ${outfile} has ${sizeBytes} bytes, over the budget of ${budgetBytes}.`);
  process.exitCode = 1;
}
// With a single character beyond ASCII, Node.js would store the whole file with two bytes per character and need more time to read it.
const beyond = bytes.findIndex((byte) => byte > 0x7f);
if (beyond >= 0) {
  const around = bytes.toString('utf8', beyond - 60, beyond + 20).replaceAll('\n', ' ');
  console.error(`build: ${outfile} has a character beyond ASCII in: ${around}`);
  process.exitCode = 1;
}

/** Writes a temporary file and renames it, so that a command that starts meanwhile finds either the old or the new executable. */
function place(path, text) {
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, text);
  if (path.endsWith('.mjs')) chmodSync(unfinished, 0o755);
  renameSync(unfinished, path);
}

function report(inputs) {
  const byPackage = new Map();
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? 'svc';
    byPackage.set(name, (byPackage.get(name) ?? 0) + (bytesInOutput ?? 0));
  }
  console.log(`${outfile}: ${(sizeBytes / 1000).toFixed(0)} kB of at most ${budgetBytes / 1000} kB`);
  const biggest = [...byPackage].sort((a, b) => b[1] - a[1]).slice(0, 10);
  for (const [name, bytes] of biggest) console.log(`  ${(bytes / 1000).toFixed(0).padStart(6)} kB  ${name}`);
}
