import { test } from 'node:test';
import { assertSecretsStayHidden } from '../support/marked-secrets.ts';

test('secrets are shown nowhere, and those that the service has checked are not in its memory', { timeout: 240_000 }, (t) =>
  assertSecretsStayHidden(t, { withHeap: true }),
);
