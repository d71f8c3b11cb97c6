import { test } from 'node:test';
import { assertBansOfAddresses, assertLimitsOfNames } from '../support/bans-history.ts';

test('bans and slots match a model in 700 random histories of attempts', () => assertBansOfAddresses(700));

test('limits of names match a model in 700 random histories of attempts', () => assertLimitsOfNames(700));
