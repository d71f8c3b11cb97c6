import { test } from 'node:test';
import { overviewForDeafReaders } from '../support/deaf-readers.ts';

test('1,000 clients that do not read: data is computed once for all, at most one message is kept for each, and each is cut off', (t) =>
  overviewForDeafReaders(t, 1000));
