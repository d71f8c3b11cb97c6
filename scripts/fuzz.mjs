// `npm run fuzz [-- CASES]`: starts the long run of the property and fuzz tests (test/fuzz), and prints the total number of cases. CASES is
// the number of cases for a property of average cost. To repeat a run, set SVC_FUZZ_SEED to its printed seed.
import { spawn } from 'node:child_process';

process.chdir(new URL('..', import.meta.url).pathname);

/** Number of cases for a property of average cost. With the default there are more than a million cases in total. */
const cases = process.argv[2] ?? '30000';

const child = spawn(process.execPath, ['scripts/test.mjs', 'fuzz/'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, SVC_FUZZ_CASES: cases, SVC_TEST_TIMEOUT_MS: '7200000', SVC_TEST_OUTDIR: '.cache/fuzz' },
});
let output = '';
child.stdout.on('data', (chunk) => {
  output += chunk;
  process.stdout.write(chunk);
});
const status = await new Promise((resolve) => child.on('close', resolve));
const total = [...output.matchAll(/^fuzz: (\d+) cases/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
console.log(`\n${total} cases in ${Math.round(performance.now() / 1000)} s`);
process.exit(status ?? 1);
