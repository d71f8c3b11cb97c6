import { test } from 'node:test';
import { cancelWhileSending } from '../support/cancelled-replay.ts';

test('a replay of 500 is cancelled while it sends: what was delivered is recorded, and the rest is not sent', (t) =>
  cancelWhileSending(t, 500));
