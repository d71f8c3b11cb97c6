import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { isInstalled } from '../../scripts/installed.mjs';

/**
 * Returns whether a foreign program is installed. If not, the test is skipped and the reason is printed. In CI the test fails instead,
 * because no test may be skipped there.
 */
export function hasProgram(t: TestContext, program: string): boolean {
  return isThere(t, program, isInstalled(program));
}

/** Like `hasProgram`, for a library or scripts: checks whether a file or folder of the package exists. */
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
