import { existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * Whether a foreign program is there. Without it the test is skipped with a printed reason; under CI it fails, as nothing
 * may be skipped there.
 */
export function hasProgram(t: TestContext, program: string): boolean {
  const isFile = (folder: string) => statSync(join(folder, program), { throwIfNoEntry: false }) !== undefined;
  return isInstalled(t, program, (process.env.PATH ?? '').split(delimiter).some(isFile));
}

/** The same for a library or scripts: whether one of the package's files or folders is there. */
export function hasPackage(t: TestContext, debianPackage: string, path: string): boolean {
  return isInstalled(t, debianPackage, existsSync(path));
}

function isInstalled(t: TestContext, what: string, isThere: boolean): boolean {
  if (isThere) return true;
  if (process.env.CI === 'true') throw new Error(`${what} is not installed, and under CI nothing may be skipped.`);
  console.log(`skipped: ${t.name}: ${what} is not installed`);
  t.skip(`${what} is not installed`);
  return false;
}
