import { resolve } from 'node:path';

/**
 * A reporter of node:test that writes the paths of the files in which a test failed, one per line. If a helper such as `browserTest`
 * declared the test, node:test gives the path of the helper. So test-queue.mjs adds an empty test after each file, and names it with the
 * file's path. After a failure in a helper, the next such test names the file that failed.
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
