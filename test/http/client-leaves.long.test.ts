import { test } from 'node:test';
import { leaveAtAllMoments, leaveStreamsAtAllMoments } from '../support/leaving-clients.ts';
import { hasProgram } from '../support/requires.ts';

const options = { timeout: 240_000 };

test('a client that leaves, at 36 moments of every request: nothing stays', options, (t) => leaveAtAllMoments(t, 5));

test('a client that leaves a stream of HTTP/2, at 18 moments of every request: nothing stays either', options, (t) =>
  hasProgram(t, 'openssl') ? leaveStreamsAtAllMoments(t, 10) : undefined,
);
