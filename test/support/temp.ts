import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A fresh real folder that goes away with the test. */
export function temporaryFolder(t: TestContext): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
