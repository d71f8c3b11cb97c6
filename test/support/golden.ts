import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const separator = '\n----\n';

/**
 * Declares a test for each file in `test/golden/<folder>`, named after the file. The part above `----` is the input, and the part below is
 * the expected output. `node scripts/test.mjs --update-golden` writes the expected parts.
 *
 * @param render returns the actual output for an input
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
