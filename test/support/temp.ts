import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A test, or all tests of a file: what is begun in it ends with it. */
export interface Ending {
  after(end: () => unknown): void;
}

/** A fresh real folder that goes away with the test. */
export function temporaryFolder(t: Ending): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
