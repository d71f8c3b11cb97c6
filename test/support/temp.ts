import { mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Ending, watchFolder } from './secret-watch.ts';

export type { Ending };

/** Returns a new real folder. At the end of the test it is searched for secrets and removed. */
export function temporaryFolder(t: Ending): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  watchFolder(t, path);
  return path;
}
