import { test } from 'node:test';
import { checkedConfig } from '../support/checked-config.ts';
import { assertLinear } from '../support/doubling.ts';
import { configurations } from '../support/many-entries.ts';

// Two of them; all are in the long run.
for (const name of ['unknown options of services', 'one address for all services'])
  test(`the work of a check grows no faster than the configuration: ${name}, in one line`, () =>
    assertLinear(name, (count) => JSON.stringify(configurations[name]?.(count)), checkedConfig, 1000));
