import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A command in a `console` block of a page of the documentation, and the output that the page shows for it. */
export interface Step {
  command: string;
  expected: string;
}

/**
 * Returns the commands in a section of a page, or in the whole page, each with the output that the page shows. Lines that begin with `> `
 * continue a command.
 */
export function tour(file: string, heading?: string): Step[] {
  const page = readFileSync(join(process.env.SVC_ROOT ?? '.', file), 'utf8');
  const start = heading === undefined ? 0 : page.indexOf(`\n## ${heading}\n`);
  assert.ok(start >= 0, `${file} has the section ${heading}`);
  const end = heading === undefined ? -1 : page.indexOf('\n## ', start + 1);
  const section = page.slice(start, end < 0 ? page.length : end);
  return [...section.matchAll(/```console\n([\s\S]*?)```/g)].flatMap((block) =>
    (block[1] as string)
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [first = '', ...lines] = step.split('\n');
        const end = lines.findIndex((line) => !line.startsWith('> '));
        const command = [first, ...lines.slice(0, end).map((line) => line.slice(2))].join('\n');
        return { command, expected: lines.slice(end).join('\n') };
      }),
  );
}
