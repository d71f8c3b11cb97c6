import { statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * Whether a foreign program is there. Without it the test is skipped with a printed reason; under CI it fails, as nothing
 * may be skipped there.
 */
export function hasProgram(t: TestContext, program: string): boolean {
  const isThere = (process.env.PATH ?? '').split(delimiter).some((folder) => statSync(join(folder, program), { throwIfNoEntry: false }));
  if (isThere) return true;
  if (process.env.CI === 'true') throw new Error(`${program} is not installed, and under CI nothing may be skipped.`);
  console.log(`skipped: ${t.name}: ${program} is not installed`);
  t.skip(`${program} is not installed`);
  return false;
}
