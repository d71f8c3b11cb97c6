import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ending, watchFolder } from './secret-watch.ts';

export type { Ending };

/** Creates a temporary folder and returns its real path. At the end of the test, the folder is searched for secrets and removed. */
export function temporaryFolder(t: Ending): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  watchFolder(t, path);
  return path;
}
