// The long run of the crash harness (test/crash/harness.long.test.ts): `npm run crash [-- ROUNDS]`.
import { spawnSync } from 'node:child_process';

process.chdir(new URL('..', import.meta.url).pathname);
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', 'crash/harness'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SVC_CRASH_HARNESS_ROUNDS: process.argv[2] ?? '1000',
    SVC_TEST_TIMEOUT_MS: '7200000',
    SVC_TEST_OUTDIR: '.cache/crash',
  },
});
console.log(`${Math.round(performance.now() / 1000)} s`);
process.exit(status ?? 1);
