import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * A small file system of its own (tmpfs), which needs root. Without it the test is skipped with a printed reason; under CI
 * it fails.
 */
export function smallDisk(t: TestContext, sizeKib: number): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'svc-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeKib}k`, 'tmpfs', disk], { stdio: 'pipe' });
  } catch (error) {
    rmdirSync(disk);
    if (process.env.CI === 'true') throw error;
    console.log(`skipped: ${t.name}: mounting a tmpfs is not permitted`);
    t.skip('mounting a tmpfs is not permitted');
    return undefined;
  }
  t.after(() => {
    execFileSync('umount', ['-l', disk]);
    rmdirSync(disk);
  });
  return disk;
}
