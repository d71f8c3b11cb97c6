import { test } from 'node:test';
import { overviewForDeafReaders } from '../support/deaf-readers.ts';

test('1,000 clients that do not read share one computation, keep one message each, and are cut off', (t) =>
  overviewForDeafReaders(t, 1000));
