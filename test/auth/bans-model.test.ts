import { test } from 'node:test';
import { assertBansOfAddresses, assertLimitsOfNames } from '../support/bans-history.ts';

test('bans and slots of addresses match a model in random histories of login attempts', () => assertBansOfAddresses(200));

test('limits of user names match a model in random histories of login attempts', () => assertLimitsOfNames(200));
