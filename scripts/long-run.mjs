// Starts the long runs of tests.
//   npm run fuzz [-- CASES]: the property and fuzz tests (test/fuzz). CASES is the number of cases for one property; by default 30,000,
//     which is over a million in total. Slow properties get fewer cases, fast ones more. To repeat a run, set SVC_FUZZ_SEED to its
//     printed seed.
//   npm run crash [-- ROUNDS]: the crash tests (test/crash/harness.long.test.ts, sftp.long.test.ts). The test of SFTP has at most 300 rounds.
import { spawnSync } from 'node:child_process';

process.chdir(new URL('..', import.meta.url).pathname);
const [kind, count] = process.argv.slice(2);
const runs = {
  fuzz: { filters: ['fuzz/'], env: { SVC_FUZZ_CASES: count ?? '30000' } },
  crash: {
    filters: ['crash/harness', 'crash/sftp.long'],
    env: { SVC_CRASH_HARNESS_ROUNDS: count ?? '1000', SVC_CRASH_ROUNDS: String(Math.min(Number(count ?? '1000'), 300)) },
  },
};
const { filters, env } = runs[kind];
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', ...filters], {
  stdio: 'inherit',
  env: { ...process.env, ...env, SVC_TEST_TIMEOUT_MS: '7200000', SVC_TEST_OUTDIR: `.cache/${kind}` },
});
process.exit(status ?? 1);
