import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { watchFolder } from './secret-watch.ts';

/** A fresh real folder. At the test's end it is looked through for secrets and goes away. */
export function temporaryFolder(t: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  watchFolder(t, path);
  return path;
}
