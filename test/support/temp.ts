import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ending, watchFolder } from './secret-watch.ts';

export type { Ending };

/** A fresh real folder. At the test's end it is looked through for secrets and goes away. */
export function temporaryFolder(t: Ending): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  watchFolder(t, path);
  return path;
}
