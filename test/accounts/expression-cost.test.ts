import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expressionCost } from '../../src/accounts/permissions.ts';

const atoms = [
  'a',
  '.',
  '\\d',
  '\\pL',
  '\\p{L}',
  '\\x{61}',
  '\\(',
  '\\Q(\\E',
  '[a-z]',
  '[(]',
  '[)]',
  '[]]',
  '[^])]',
  '[[:alpha:]]',
  '[\\])]',
  '(?:',
  '^',
  '$',
];
const repetitions = ['*', '+', '?', '{9}', '{2,7}', '{3,}', '{0,30}', '{ 2}', '{,2}', '{a}'];
const regularExpression = fc
  .array(fc.constantFrom(...atoms, ...repetitions, ...repetitions, '(', '(', ')', ')', ')', '|', '(?i)', '(?P<n>', '[', ']', '\\'), {
    maxLength: 25,
  })
  .map((parts) => parts.join(''));

test('the program of a compiled regular expression is never much larger than its estimated cost', () => {
  let compiled = 0;
  fc.assert(
    fc.property(regularExpression, (text) => {
      let steps: number;
      try {
        steps = RE2JS.compile(text).programSize();
      } catch {
        return;
      }
      compiled++;
      const cost = expressionCost(`e/${text}/`);
      assert.ok(steps <= 10 + 3 * cost, `${text}: ${steps} steps, cost ${cost}`);
    }),
    { seed: 7, numRuns: 20_000 },
  );
  assert.ok(compiled > 2000, `${compiled} compiled`);
});

test('typical expressions have a low cost; expressions that run for seconds have a high cost', () => {
  for (const source of ['*.csv', '/inbox/*', '/${USER}/*.csv | /x*', 'g/*/a/b/*/', '!*.tmp'])
    assert.equal(expressionCost(source), 0, source);
  for (const source of [
    '/[0-9]*/??.csv',
    'e/^\\/in\\/\\d{4}-\\d{2}-\\d{2}\\.csv$/i',
    'e/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/',
    '! e/a|b|c/',
  ])
    assert.ok(expressionCost(source) < 150, source);
  for (const source of [
    `e/${'a{0,1000}'.repeat(400)}/`,
    'm/(a|b|c){1000}/i',
    'e/((a{10}){10}){10}/',
    `e/${'[\\p{L}x]'.repeat(100)}/i`,
    'e/(${USER}){100}/',
    `*${'?a'.repeat(1500)}`,
  ])
    assert.ok(expressionCost(source) > 1000, source);
});
