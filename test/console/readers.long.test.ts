import { test } from 'node:test';
import { overviewForDeafReaders } from '../support/deaf-readers.ts';

test('1,000 readers who do not read: asked once for all, one message kept for each at most, cut off after a while', (t) =>
  overviewForDeafReaders(t, 1000));
