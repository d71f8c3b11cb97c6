import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { executable } from '../support/child.ts';
import { assertCommands } from '../support/executable-commands.ts';

/** Each stands for similar commands, or for those that other tests run as a process. */
const tried = new Set(['explain', 'schema', 'openapi', 'init', 'sessions', 'health', 'man']);

test('the executable has the commands of its help', (t) => assertCommands(t, (command) => tried.has(command)));

test('no command loads modules of Node.js that it does not run: the executable imports the one that gives it `require`', () => {
  const statements = readFileSync(executable, 'utf8').matchAll(/\bimport\b ?[\w${},* ]* ?from ?["']([^"']+)["']/g);
  assert.deepEqual(
    [...statements].map(([, name]) => name),
    ['node:module'],
  );
});
