import { test } from 'node:test';
import { assertBansOfAddresses, assertLimitsOfNames } from '../support/bans-history.ts';

test('bans and slots are what the history of attempts says, 700 histories', () => assertBansOfAddresses(700));

test('limits of names are what the history of attempts says, 700 histories', () => assertLimitsOfNames(700));
