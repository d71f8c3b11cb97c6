import { test } from 'node:test';
import { cancelWhileSending } from '../support/cancelled-replay.ts';

test('a replay of 100,000 events is cancelled while it sends', { timeout: 300_000 }, (t) => cancelWhileSending(t, 100_000));
