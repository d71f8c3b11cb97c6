import { test } from 'node:test';
import { assertCommands } from '../support/executable-commands.ts';

test('the executable has every command of its help', { timeout: 120_000 }, assertCommands);
