// `npm run crash [-- ROUNDS]`: starts the long crash tests (test/crash/harness.long.test.ts, sftp.long.test.ts). The test of SFTP has at
// most 300 rounds.
import { spawnSync } from 'node:child_process';

process.chdir(new URL('..', import.meta.url).pathname);
const rounds = process.argv[2] ?? '1000';
const { status } = spawnSync(process.execPath, ['scripts/test.mjs', 'crash/harness', 'crash/sftp.long'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    SVC_CRASH_HARNESS_ROUNDS: rounds,
    SVC_CRASH_ROUNDS: String(Math.min(Number(rounds), 300)),
    SVC_TEST_TIMEOUT_MS: '7200000',
    SVC_TEST_OUTDIR: '.cache/crash',
  },
});
console.log(`${Math.round(performance.now() / 1000)} s`);
process.exit(status ?? 1);
