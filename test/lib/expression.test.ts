import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../src/lib/errors.ts';
import { compileExpression } from '../../src/lib/expression.ts';

const cases: [string, string[], string[]][] = [
  ['*.pdf', ['a.pdf', '/x/A.PDF', '.pdf'], ['a.pdf2', 'pdf']],
  ['/inbox/*', ['/inbox/a', '/INBOX/a/b', '/inbox/'], ['/inbox', '/inbo/x']],
  ['g/*.pdf/', ['a.pdf'], ['a.pdf/']],
  ['a?c', ['abc', 'a\nc', 'a😀c'], ['ac', 'abbc']],
  ['[a-c]x', ['ax', 'Bx'], ['dx', 'x']],
  ['[!a-c]x', ['dx'], ['ax', 'Ax']],
  ['what[?]', ['what?'], ['whats']],
  ['[[]x]', ['[x]'], ['x']],
  ['*.csv | *.tsv', ['a.csv', 'b.TSV'], ['a.txt', 'a.csv | b.txt']],
  ['[|]', ['|'], ['a']],
  ['!*.tmp', ['a.txt'], ['a.tmp']],
  ['!e/secret/', ['open'], ['top secret']],
  ['e/^\\/a\\d+$/', ['/a12'], ['/A12', '/a', 'x/a1']],
  ['e/ABC/i', ['xabcx'], ['ab']],
  ['m/b.c/', ['abxcd'], ['b\nc']],
  ['*<Status>OK</Status>*', ['<a>\n<Status>OK</Status>\n</a>'], ['<Status>NO</Status>']],
  ['*', ['', 'anything\nat all'], []],
  ['Ä*', ['äpfel'], ['apfel']],
  ['ΧΡΗΣΤΗΣ', ['χρηστης', 'χρηστησ'], ['χρηστη']],
  ['[σ]secret', ['ςſecret', 'Σsecret'], ['oſecret']],
  ['ıß', ['ıß', 'ıẞ'], ['iß', 'ISS']],
];

test('expressions match as specified', () => {
  for (const [source, matching, other] of cases) {
    const expression = compileExpression(source);
    for (const text of matching) assert.equal(expression.matches(text), true, `${source} matches ${JSON.stringify(text)}`);
    for (const text of other) assert.equal(expression.matches(text), false, `${source} does not match ${JSON.stringify(text)}`);
  }
});

test('`.` matches a line break in paths, but not in texts; in paths, `^` and `$` match only the ends', () => {
  for (const [source, inPaths, inTexts] of [
    ['e/^\\/a.b$/', true, false],
    ['m/A.B/i', true, false],
    ['!e/^\\/a.b$/', false, true],
  ] as const) {
    assert.equal(compileExpression(source, 'paths').matches('/a\nb'), inPaths, source);
    assert.equal(compileExpression(source).matches('/a\nb'), inTexts, source);
  }
  assert.equal(compileExpression('e/^b$/', 'paths').matches('a\nb'), false);
  assert.equal(compileExpression('e/b$/', 'paths').matches('b\n'), false);
});

test('in paths composed and decomposed characters are equal, in rule and path; in texts they are not', () => {
  const composed = '/Größe é';
  const decomposed = composed.normalize('NFD');
  for (const pattern of ['/GRÖẞE É', '/gr*', '/gr?ße ?', '/gr[ö]ße [!a-z]', 'e/^\\/gr.ße [é]$/i', '/größe é | x', 'g//größe é/'])
    for (const rule of [pattern, pattern.normalize('NFD')])
      for (const path of [composed, decomposed]) {
        assert.equal(compileExpression(rule, 'paths').matches(path), true, `${rule} ${path}`);
        assert.equal(compileExpression(`! ${rule}`, 'paths').matches(path), !compileExpression(rule, 'paths').matches(path));
      }
  assert.equal(compileExpression(composed).matches(decomposed), false);
});

test('an expression that cannot be parsed is refused with a reason', () => {
  for (const source of ['', '  ', '!', 'e/(/', 'e/a/x', 'e/', 'e/a', 'e/(?=a)/', 'e/(a)\\1/', 'x'.repeat(5000)]) {
    assert.throws(
      () => compileExpression(source),
      (error) => error instanceof ServiceError && error.code === 'bad-request',
      source,
    );
  }
});

test('no text can stall a match: patterns that take exponential time with backtracking take linear time here', () => {
  const text = 'a'.repeat(30_000);
  const startedMs = performance.now();
  for (const source of ['e/^(a+)+$/', 'e/(a|aa)+b/', 'e/(.*)*x/', `${'*a'.repeat(12)}b`, `${'a*'.repeat(12)}b`])
    compileExpression(source).matches(`${text}!`);
  assert.ok(performance.now() - startedMs < 20_000, 'with backtracking, the matches would take minutes');
});
