import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * Returns a folder that is not on the file system of the temporary folders. If there is none, the test is skipped with a printed reason; in
 * CI it fails.
 */
export function otherDisk(t: TestContext): string | undefined {
  const own = statSync(tmpdir()).dev;
  const other = ['/dev/shm', process.env.SVC_TEST_DISK ?? ''].find((place) => existsSync(place) && statSync(place).dev !== own);
  if (other === undefined) {
    if (process.env.CI === 'true') throw new Error('There is no second file system, and under CI nothing may be skipped.');
    console.log(`skipped: ${t.name}: there is no second file system`);
    t.skip('there is no second file system');
    return undefined;
  }
  const folder = mkdtempSync(join(other, 'svc-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
