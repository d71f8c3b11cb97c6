import { test } from 'node:test';
import { hasProgram } from './support/requires.ts';
import { runTour } from './support/run-tour.ts';

test('recipes: each group may do what its page shows', { timeout: 90_000 }, async (t) => {
  for (const program of ['sftp', 'ssh-keygen']) if (!hasProgram(t, program)) return;
  await runTour(t, 'docs/operate/recipes.md');
});

test('backup: what was copied from a running server is served and told again after a restore', { timeout: 90_000 }, (t) =>
  runTour(t, 'docs/operate/backup.md'));
