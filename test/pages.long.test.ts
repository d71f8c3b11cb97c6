import { test } from 'node:test';
import { hasProgram } from './support/requires.ts';
import { runTour } from './support/run-tour.ts';

test('recipes: each group has the permissions that the page shows', { timeout: 90_000 }, async (t) => {
  for (const program of ['sftp', 'ssh-keygen']) if (!hasProgram(t, program)) return;
  await runTour(t, 'docs/operate/recipes.md');
});

test('troubleshooting: each command prints the output that the page shows', { timeout: 120_000 }, (t) =>
  runTour(t, 'docs/operate/troubleshooting.md'),
);

test('certificates: valid renewed files are used, invalid ones never', { timeout: 120_000 }, async (t) => {
  if (hasProgram(t, 'openssl')) await runTour(t, 'docs/operate/certificates.md');
});

test('backup: a copy of a running server has its files and events after a restore', { timeout: 90_000 }, (t) =>
  runTour(t, 'docs/operate/backup.md'),
);

test('migrating: a host key, authorized_keys and a folder of OpenSSH are imported', { timeout: 90_000 }, async (t) => {
  for (const program of ['sftp', 'ssh-keygen']) if (!hasProgram(t, program)) return;
  await runTour(t, 'docs/operate/migrating.md');
});
