import { test } from 'node:test';
import { assertSecretsStayHidden } from '../support/marked-secrets.ts';

test('secrets are shown nowhere, and do not stay in memory after they were checked', { timeout: 240_000 }, (t) =>
  assertSecretsStayHidden(t, { withHeap: true }),
);
