import { test } from 'node:test';
import { hasProgram } from './support/requires.ts';
import { runTour } from './support/run-tour.ts';

test('recipes: each group may do what its page shows', { timeout: 90_000 }, async (t) => {
  for (const program of ['sftp', 'ssh-keygen']) if (!hasProgram(t, program)) return;
  await runTour(t, 'docs/operate/recipes.md');
});

test('troubleshooting: each command says what its page says', { timeout: 120_000 }, (t) => runTour(t, 'docs/operate/troubleshooting.md'));

test('certificates: renewed files are taken, unusable ones never', { timeout: 120_000 }, async (t) => {
  if (hasProgram(t, 'openssl')) await runTour(t, 'docs/operate/certificates.md');
});

test('backup: what was copied from a running server is served and told again after a restore', { timeout: 90_000 }, (t) =>
  runTour(t, 'docs/operate/backup.md'),
);

test('migrating: a host key, authorized_keys and a folder of OpenSSH are taken over', { timeout: 90_000 }, async (t) => {
  for (const program of ['sftp', 'ssh-keygen']) if (!hasProgram(t, program)) return;
  await runTour(t, 'docs/operate/migrating.md');
});
