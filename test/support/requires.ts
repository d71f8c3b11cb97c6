import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { isInstalled } from '../../scripts/installed.mjs';

/**
 * Returns whether a foreign program is installed. Without it the test is skipped with a printed reason. In CI it fails, because nothing may
 * be skipped there.
 */
export function hasProgram(t: TestContext, program: string): boolean {
  return isThere(t, program, isInstalled(program));
}

/** Does the same as `hasProgram` for a library or scripts, by checking whether a file or folder of the package exists. */
export function hasPackage(t: TestContext, debianPackage: string, path: string): boolean {
  return isThere(t, debianPackage, existsSync(path));
}

function isThere(t: TestContext, what: string, isFound: boolean): boolean {
  if (isFound) return true;
  if (process.env.CI === 'true') throw new Error(`${what} is not installed, and under CI nothing may be skipped.`);
  console.log(`skipped: ${t.name}: ${what} is not installed`);
  t.skip(`${what} is not installed`);
  return false;
}
