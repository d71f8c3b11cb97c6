import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ending, watchFolder } from './secret-watch.ts';

export type { Ending };

/** Creates a temporary folder, which is searched for secrets and removed at the end. @returns its real path */
export function temporaryFolder(t: Ending): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  watchFolder(t, path);
  return path;
}
