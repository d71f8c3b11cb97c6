// `npm run check`: checks types, format and lint, unused code, the package and the documentation. It runs all checks, and then names the
// failed ones.
import { spawnSync } from 'node:child_process';

process.chdir(new URL('..', import.meta.url).pathname);
const bin = (name) => `node_modules/.bin/${name}`;

const checks = {
  types: [bin('tsc'), '-p', '.'],
  'types of the scripts for browsers': [bin('tsc'), '-p', 'src/web'],
  'format and lint': [bin('biome'), 'ci', '--colors=off', '--max-diagnostics=50', '--error-on-warnings', '.'],
  'unused code': [bin('knip')],
  'API description': [process.execPath, 'scripts/lint-openapi.mjs'],
  documentation: [process.execPath, 'scripts/docs.mjs', '--check'],
  package: [bin('publint')],
  'known vulnerabilities': [process.execPath, 'scripts/audit.mjs'],
};

const failed = Object.entries(checks).filter(([name, [command, ...args]]) => {
  console.log(`\n== ${name}`);
  return spawnSync(command, args, { stdio: 'inherit' }).status !== 0;
});
console.log(failed.length === 0 ? '\nall checks passed' : `\nfailed: ${failed.map(([name]) => name).join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
