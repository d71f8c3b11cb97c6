// Start-up of the command line: `svc --version` against `node -e 0`, interleaved; medians. Fails when the ratio is 2 or more.
//   node scripts/bench/start.mjs [ROUNDS]
import { spawnSync } from 'node:child_process';
import { median } from './support/machine.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const rounds = Number(process.argv[2] ?? 25);
const highestRatio = 2;

const commands = {
  'node -e 0': ['-e', '0'],
  'svc --version': ['dist/svc.mjs', '--version'],
  'svc --help': ['dist/svc.mjs', '--help'],
  'svc validate --help': ['dist/svc.mjs', 'validate', '--help'],
};
const times = new Map(Object.keys(commands).map((name) => [name, []]));
for (let round = 0; round <= rounds; round++) {
  for (const [name, args] of Object.entries(commands)) {
    const startedMs = performance.now();
    const { status } = spawnSync(process.execPath, args);
    if (status !== 0) throw new Error(`${name} ended with ${status}`);
    // The first round fills the caches of the system.
    if (round > 0) times.get(name).push(performance.now() - startedMs);
  }
}
const plainMs = median(times.get('node -e 0'));
for (const [name, values] of times)
  console.log(`${name.padEnd(20)} ${median(values).toFixed(1)} ms  ×${(median(values) / plainMs).toFixed(2)}`);
if (median(times.get('svc --version')) / plainMs >= highestRatio) {
  console.error(`bench: svc --version takes ${highestRatio} times as long as node -e 0, or longer.`);
  process.exitCode = 1;
}
