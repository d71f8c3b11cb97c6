import { test } from 'node:test';
import { assertCommands } from '../support/executable-commands.ts';

/** Each stands for those that do alike, or that other tests run as a process. */
const tried = new Set(['explain', 'schema', 'openapi', 'init', 'sessions', 'health', 'man']);

test('the executable has the commands of its help', (t) => assertCommands(t, (command) => tried.has(command)));
