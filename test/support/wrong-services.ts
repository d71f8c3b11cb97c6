import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { run } from './child.ts';
import { temporaryFolder } from './temp.ts';

/** Asserts that `svc validate` reports each of `count` wrong services, with its place. */
export async function assertWrongServices(t: TestContext, count: number): Promise<void> {
  const cwd = temporaryFolder(t);
  const services = Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, { type: 'http', port: 'x', colour: 1 }]));
  for (const indent of [0, 1]) {
    writeFileSync(join(cwd, 'many.json'), JSON.stringify({ services }, null, indent));
    const end = await run(t, ['validate', 'many.json'], { cwd });
    assert.equal(end.code, 1);
    assert.ok(end.stderr.endsWith(`\n${2 * count} errors, 0 warnings\n`), end.stderr.slice(-200));
    const last = `many.json:${5 * count + 1}:4: error[unknown-option]: services.s${count - 1}.colour: `;
    if (indent === 1) assert.ok(end.stderr.includes(last), last);
  }
}
