import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { isInstalled } from '../../scripts/installed.mjs';

/** Returns whether a foreign program is installed. If not, the test is skipped; in CI it fails. */
export function hasProgram(t: TestContext, program: string): boolean {
  return isThere(t, program, isInstalled(program));
}

/** Like `hasProgram`, for a library or scripts. */
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
