// Starts the long run of the property and fuzz tests (test/fuzz): `npm run fuzz [-- CASES]`. CASES is the number for each property of
// average cost. Prints the total number of cases. SVC_FUZZ_SEED repeats a run with its printed seed.
import { spawn } from 'node:child_process';

process.chdir(new URL('..', import.meta.url).pathname);

/** Number of cases of each target. Together they are more than a million. */
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
