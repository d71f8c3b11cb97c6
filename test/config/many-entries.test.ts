import { test } from 'node:test';
import { checkedConfig } from '../support/checked-config.ts';
import { assertLinear } from '../support/doubling.ts';
import { configurations } from '../support/many-entries.ts';

for (const [name, make] of Object.entries(configurations))
  test(`the work of a check grows no faster than the configuration: ${name}, in one line`, () =>
    assertLinear(name, (count) => JSON.stringify(make(count)), checkedConfig, 1000));
