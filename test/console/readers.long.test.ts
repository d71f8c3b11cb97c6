import { test } from 'node:test';
import { overviewForDeafReaders } from '../support/deaf-readers.ts';

test('for 1,000 clients that do not read, data is computed only once, and at most one message is kept for each; all clients are cut off', (t) =>
  overviewForDeafReaders(t, 1000));
