// `npm run build:binary`: builds dist/svc-<platform>, an executable that contains Node.js, for machines without Node.js. Also writes its
// SBOM, dist/svc-<platform>.sbom.json.
//   node scripts/packages/binary.mjs [--platform linux-x64|linux-arm64|win-x64 …] [--out FOLDER] [--name NAME]
//     [--without-code-cache] [--quiet]
// Without --platform it builds for this machine. The binary of another platform is not tested, and has no code cache, because only a
// machine of that platform can create the cache.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { makeBinary } from './make-binary.mjs';
import { nodeVersion, platforms, thisPlatform } from './node-binaries.mjs';

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
for (const platform of options.platform) {
  const name = `${out}/${options.name ?? `svc-${platform}`}`;
  const path = platform.startsWith('win') && !options.name ? `${name}.exe` : name;
  const { sbom } = await makeBinary(platform, { path, isCompiled: platform === thisPlatform && !options['without-code-cache'] });
  writeFileSync(`${name}.sbom.json`, sbom);
  if (!options.quiet) console.log(`${path}: ${(statSync(path).size / 1e6).toFixed(0)} MB, Node.js ${nodeVersion}`);
}
