import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { executable } from '../support/child.ts';

test('no command loads unused modules of Node.js: the executable imports only the module that provides `require`', () => {
  const statements = readFileSync(executable, 'utf8').matchAll(/\bimport\b ?[\w${},* ]* ?from ?["']([^"']+)["']/g);
  assert.deepEqual(
    [...statements].map(([, name]) => name),
    ['node:module'],
  );
});
