import { test } from 'node:test';
import { assertSecretsStayHidden } from '../support/marked-secrets.ts';

test('secrets are shown nowhere, and checked ones do not stay in memory', { timeout: 240_000 }, (t) =>
  assertSecretsStayHidden(t, { withHeap: true }),
);
