import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const separator = '\n----\n';

/**
 * One test for each file of `test/golden/<folder>`: what stands above `----` is the input, what stands below is expected of
 * it. The file's name is the test's name. `node scripts/test.mjs --update-golden` writes the expected parts anew.
 *
 * @param render makes the actual output of an input
 */
export function goldenTests(folder: string, render: (input: string, name: string) => string | Promise<string>): void {
  const path = join(process.env.SVC_ROOT ?? '.', 'test/golden', folder);
  for (const file of readdirSync(path).sort()) {
    test(`${folder}: ${file.replace(/\.txt$/, '').replaceAll('-', ' ')}`, async () => {
      const text = readFileSync(join(path, file), 'utf8');
      const mark = text.indexOf(separator);
      const input = mark < 0 ? text : text.slice(0, mark + 1);
      const actual = await render(input, file);
      if (process.env.SVC_UPDATE_GOLDEN === '1') writeFileSync(join(path, file), `${input.trimEnd()}${separator}${actual}`);
      else assert.equal(actual, text.slice(mark + separator.length));
    });
  }
}
