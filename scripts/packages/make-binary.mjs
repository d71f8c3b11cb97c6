// Builds a binary: the executable that the Node.js project publishes, with svc inside (a single executable application,
// https://nodejs.org/docs/latest-v24.x/api/single-executable-applications.html).
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { inject } from 'postject';
import { executableOptions } from '../bundle-options.mjs';
import { bundledPackages, licencesOf, sbomOf } from '../bundled-packages.mjs';
import { nodeComponent, nodeOf, nodeVersion, thisPlatform } from './node-binaries.mjs';

/** The marker by which the executable of Node.js recognises that it contains a script. It is a constant of Node.js. */
const sentinelFuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/**
 * Builds the binary of a platform.
 *
 * @param {string} platform name in `platforms`
 * @param {{ path: string, isCompiled: boolean }} options path of the binary, and whether it contains V8's compiled code. Only a machine of
 *   the same platform can create this code, and its bytes differ in each build
 * @returns {Promise<{ licences: string, sbom: string }>} licences and SBOM of svc, Node.js and all packages inside
 */
export async function makeBinary(platform, { path, isCompiled }) {
  const { script, packages } = await bundle();
  // The licence is the same for all platforms, but not every platform's package contains it.
  const ofNode = {
    name: 'Node.js',
    version: nodeVersion,
    license: 'MIT and others',
    licenceText: readFileSync(nodeOf(thisPlatform).licence, 'utf8').trim(),
  };
  const licences = `${licencesOf([ofNode, ...packages], { version })}\n`;
  const unfinished = `${path}.${process.pid}`;
  copyFileSync(nodeOf(platform).executable, unfinished);
  chmodSync(unfinished, 0o755);
  await inject(unfinished, 'NODE_SEA_BLOB', blobOf({ script, licences, isCompiled }), { sentinelFuse });
  renameSync(unfinished, path);
  return { licences, sbom: sbomOf(packages, version, [nodeComponent(platform)]) };
}

let bundled;

/** Bundles the sources of dist/svc.mjs as CommonJS, because a binary cannot run an ES module. */
function bundle() {
  bundled ??= build({
    ...executableOptions,
    outfile: 'svc.cjs',
    format: 'cjs',
    banner: {},
    define: { SVC_VERSION: executableOptions.define.SVC_VERSION },
    supported: { 'dynamic-import': false },
    sourcemap: false,
    write: false,
    metafile: true,
  }).then(({ outputFiles, metafile }) => ({
    script: outputFiles[0].text.replace(/^#!.*\n/, ''),
    packages: bundledPackages(Object.values(metafile.outputs)[0].inputs),
  }));
  return bundled;
}

/** Returns the data that is added to the executable of Node.js: the script, and the licences as an asset. */
function blobOf({ script, licences, isCompiled }) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-binary-'));
  try {
    const config = {
      // This path becomes part of the blob, so it is only a file name, without a folder.
      main: 'svc.cjs',
      output: 'blob',
      disableExperimentalSEAWarning: true,
      useCodeCache: isCompiled,
      assets: { licences: 'licences' },
    };
    writeFileSync(join(folder, config.main), script);
    writeFileSync(join(folder, 'licences'), licences);
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    execFileSync(nodeOf(thisPlatform).executable, ['--experimental-sea-config', 'config.json'], { cwd: folder, stdio: 'pipe' });
    return readFileSync(join(folder, config.output));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
