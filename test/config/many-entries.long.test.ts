import { test } from 'node:test';
import { checkedConfig } from '../support/checked-config.ts';
import { assertLinear } from '../support/doubling.ts';
import { configurations } from '../support/many-entries.ts';

for (const [name, make] of Object.entries(configurations))
  for (const [lines, indent, count] of [
    ['one line', 0, 1000],
    ['many', 1, 2000],
  ] as const)
    test(`the work of a check grows at most linearly with the configuration: ${name}, in ${lines === 'many' ? 'many lines' : lines}`, () =>
      assertLinear(name, (entries) => JSON.stringify(make(entries), null, indent), checkedConfig, count));
