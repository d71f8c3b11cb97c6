import { test } from 'node:test';
import { assertBansOfAddresses, assertLimitsOfNames } from '../support/bans-history.ts';

test('bans and slots of addresses match a model in 700 random histories of login attempts', () => assertBansOfAddresses(700));

test('limits of user names match a model in 700 random histories of login attempts', () => assertLimitsOfNames(700));
