import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { executable } from '../support/child.ts';
import { assertCommands } from '../support/executable-commands.ts';

/** Each represents similar commands. Other tests run the remaining commands as processes. */
const tried = new Set(['explain', 'schema', 'openapi', 'init', 'sessions', 'health', 'man']);

test('the executable has the commands of its help', (t) => assertCommands(t, (command) => tried.has(command)));

test('no command loads unused modules of Node.js: the executable imports only the module that provides `require`', () => {
  const statements = readFileSync(executable, 'utf8').matchAll(/\bimport\b ?[\w${},* ]* ?from ?["']([^"']+)["']/g);
  assert.deepEqual(
    [...statements].map(([, name]) => name),
    ['node:module'],
  );
});
