import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { runProgram } from '../support/program.ts';
import { temporaryFolder } from '../support/temp.ts';

const root = process.env.SVC_ROOT ?? process.cwd();

const others = "require('cosmiconfig'); require('@redis/client'); require('prom-client'); import('unixcrypt');";

/** Bundles a copy of ssh2 with the patches. @param change changes the copy first */
async function bundleCopy(folder: string, change: (library: string) => void) {
  const library = join(folder, 'node_modules/ssh2');
  rmSync(library, { recursive: true, force: true });
  mkdirSync(library, { recursive: true });
  for (const part of ['lib', 'package.json']) cpSync(join(root, 'node_modules/ssh2', part), join(library, part), { recursive: true });
  writeFileSync(join(folder, 'main.js'), `${others} require('ssh2/lib/server.js'); require('ssh2/lib/client.js');`);
  change(library);
  const code = `
    import { build } from '${root}/node_modules/esbuild/lib/main.js';
    import { patchedPackages } from '${root}/scripts/patched-packages.mjs';
    await build({
      entryPoints: ['main.js'], bundle: true, outfile: 'out.js', platform: 'node', packages: 'bundle', logLevel: 'error', nodePaths: ['${root}/node_modules'],
      external: ['cpu-features', '*.node', '@node-rs/xxhash', 'typescript', 'import-fresh', 'js-yaml', 'parse-json'], plugins: [patchedPackages(true)],
    });`;
  return runProgram('node', ['--input-type=module', '-e', code], { cwd: folder });
}

test('the patches of ssh2 are applied, and a build fails if a patch does not apply or is not used', async (t) => {
  const folder = temporaryFolder(t);
  const whole = await bundleCopy(folder, () => {});
  assert.equal(whole.code, 0, whole.output);
  const bundle = readFileSync(join(folder, 'out.js'), 'utf8');
  assert.match(bundle, /"mlkem768x25519-sha256"/);
  assert.doesNotMatch(bundle, /nistp521rsa-sha2-512|rsa-sha2-256,ssh-rsa/);
  assert.doesNotMatch(bundle, /tweetnacl/);
  assert.doesNotMatch(bundle, /GEOSEARCHSTORE\.js/);
  assert.doesNotMatch(bundle, /command-metadata-data\.js/);
  const changed = await bundleCopy(folder, (library) => {
    const path = join(library, 'lib/protocol/Protocol.js');
    writeFileSync(path, readFileSync(path, 'utf8').replace("+ 'rsa-sha2-512", "+ ',rsa-sha2-512"));
  });
  assert.notEqual(changed.code, 0);
  assert.match(changed.output, /scripts\/patches\/ssh2\/01-server-sig-algs\.diff does not apply/);
  const unused = await bundleCopy(folder, () => writeFileSync(join(folder, 'main.js'), `${others} require('ssh2/lib/Channel.js');`));
  assert.notEqual(unused.code, 0);
  assert.match(unused.output, /these patches change no file in the bundle: .*ssh2\/03-mlkem768x25519\.diff/);
});
