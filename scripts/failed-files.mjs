import { resolve } from 'node:path';

/**
 * A reporter of node:test: the paths of the files in which a test failed, one a line. A test that a helper declared, such as `browserTest`,
 * has the helper's path: the test that test-queue.mjs adds behind each file tells which file it is of.
 */
export default async function* failedFiles(events) {
  const files = new Set();
  let hasFailure = false;
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.file) {
      files.add(data.file);
      hasFailure ||= /\/test\/support\//.test(data.file);
    }
    if (type === 'test:pass' && data.name.endsWith('.test.ts')) {
      if (hasFailure) files.add(resolve(data.name));
      hasFailure = false;
    }
  }
  for (const file of files) yield `${file}\n`;
}
