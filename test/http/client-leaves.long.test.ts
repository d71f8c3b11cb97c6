import { test } from 'node:test';
import { leaveAtAllMoments, leaveStreamsAtAllMoments } from '../support/leaving-clients.ts';
import { hasProgram } from '../support/requires.ts';

const options = { timeout: 240_000 };

test('a client that leaves at 36 moments of every request leaves nothing open', options, (t) => leaveAtAllMoments(t, 5));

test('a client that leaves an HTTP/2 stream at 18 moments of every request leaves nothing open', options, (t) =>
  hasProgram(t, 'openssl') ? leaveStreamsAtAllMoments(t, 10) : undefined,
);
