import { resolve } from 'node:path';

/**
 * A reporter of node:test that writes the paths of failed test files. If a helper declared the failed test, node:test gives the helper's
 * path. So test-queue.mjs adds an empty test after each file, named with the file's path.
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
