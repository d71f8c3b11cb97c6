import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Json, readJson } from '../../../src/web/files/previews/text/json.ts';
import { colourLines, findLanguage } from '../../../src/web/files/previews/text/languages.ts';
import { readSeparatedValues } from '../../../src/web/files/previews/text/separated-values.ts';

const never = new AbortController().signal;

test('separated values are read with any usual separator, quotes and line ends', () => {
  const cases: [string, string[][]][] = [
    [
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a;b\r\n1,5;2\r\n',
      [
        ['a', 'b'],
        ['1,5', '2'],
      ],
    ],
    [
      'a\tb\r1\t2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a|b\n1|2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['sep=:\na:b\n', [['a', 'b']]],
    [
      '"x ""y"" z","line\nbreak, and more"\n,',
      [
        ['x "y" z', 'line\nbreak, and more'],
        ['', ''],
      ],
    ],
    ['"open\nto the end', [['open\nto the end']]],
    ['"a"b,c', [['ab', 'c']]],
    ['alone', [['alone']]],
    ['', []],
  ];
  for (const [text, records] of cases) assert.deepEqual(readSeparatedValues(text, 100, true), { records, isCut: false }, text);
});

test('written separated values can be read again', () => {
  const value = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ' ', 'ü') });
  const table = fc
    .integer({ min: 2, max: 4 })
    .chain((width) => fc.array(fc.array(value, { minLength: width, maxLength: width }), { minLength: 1 }));
  fc.assert(
    fc.property(table, (records) => {
      const text = records.map((record) => record.map((part) => `"${part.replaceAll('"', '""')}"`).join(',')).join('\r\n');
      assert.deepEqual(readSeparatedValues(text, 1000, true).records, records);
    }),
  );
});

test('only the first records of separated values are read; a last line that may be cut is left out', () => {
  const text = 'a,b\n'.repeat(1000);
  assert.deepEqual(readSeparatedValues(text, 2, true), {
    records: [
      ['a', 'b'],
      ['a', 'b'],
    ],
    isCut: true,
  });
  assert.deepEqual(readSeparatedValues('a,b\nc,d\ne', 100, false), {
    records: [
      ['a', 'b'],
      ['c', 'd'],
    ],
    isCut: true,
  });
});

/** Returns the value as `JSON.parse` would. */
function plain(value: Json): unknown {
  switch (value.kind) {
    case 'object':
      return Object.fromEntries(value.members.map(([name, member]) => [name, plain(member)]));
    case 'array':
      return value.values.map(plain);
    case 'string':
      return value.text;
    default:
      return JSON.parse(value.text);
  }
}

test('JSON is read as JSON.parse reads it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.constantFrom(undefined, 2), async (value, indent) => {
      const read = await readJson(JSON.stringify(value, null, indent), never);
      assert.ok(read);
      assert.deepEqual(plain(read), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('a text is invalid JSON exactly if JSON.parse refuses it', async () => {
  const pieces = fc.constantFrom(
    '[',
    ']',
    '{',
    '}',
    ':',
    ',',
    '"a"',
    '"',
    '1',
    '-',
    '0',
    '.5',
    'e3',
    'true',
    'nul',
    'null',
    ' ',
    '\\u12',
    '\u0000',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 8 }), async (parts) => {
      const text = parts.join('');
      let isJson = true;
      try {
        JSON.parse(text);
      } catch {
        isJson = false;
      }
      assert.equal((await readJson(text, never)) !== undefined, isJson, text);
    }),
    { numRuns: 2000 },
  );
});

test('JSON keeps details that JSON.parse loses: large numbers, the order of names, repeated names', async () => {
  const read = await readJson('{"b":12345678901234567890,"1":1e999,"b":0.10,"__proto__":null}', never);
  assert.deepEqual(read, {
    kind: 'object',
    members: [
      ['b', { kind: 'other', text: '12345678901234567890' }],
      ['1', { kind: 'other', text: '1e999' }],
      ['b', { kind: 'other', text: '0.10' }],
      ['__proto__', { kind: 'other', text: 'null' }],
    ],
  });
});

test('JSON of any depth, and a string of a megabyte, are read', async () => {
  const depth = 200_000;
  assert.equal((await readJson('['.repeat(depth) + ']'.repeat(depth), never))?.kind, 'array');
  assert.equal(await readJson('['.repeat(depth), never), undefined);
  const long = 'x\\n'.repeat(400_000);
  assert.equal((await readJson(`"${long}"`, never))?.kind, 'string');
});

test('the reading of JSON ends when its signal is aborted', async () => {
  const gone = AbortSignal.abort(new Error('gone'));
  await assert.rejects(readJson(`[${'1,'.repeat(2_000_000)}1]`, gone), /gone/);
});

test('code is coloured by types of words; an open construct continues in the next line', () => {
  const coloured = (name: string, ...lines: string[]) => {
    const language = findLanguage(name);
    assert.ok(language, name);
    const partsOf = colourLines(language);
    return lines.flatMap((line) => partsOf(line).flatMap(({ text, colour }) => (colour === undefined ? [] : [`${colour} ${text}`])));
  };
  assert.deepEqual(coloured('a.py', 'def f(): return "x" # y', '"""a', 'b"""'), [
    'keyword def',
    'name f',
    'keyword return',
    'string "x"',
    'comment # y',
    'string """a',
    'string b"""',
  ]);
  assert.deepEqual(coloured('A.HTML', '<p class="x">'), ['type <p', 'property class', 'string "x"', 'type >']);
  assert.deepEqual(coloured('a.sql', "SELECT a FROM selected WHERE b = 'it''s' /* x", 'y */ and 1'), [
    'keyword SELECT',
    'keyword FROM',
    'keyword WHERE',
    "string 'it''s'",
    'comment /* x',
    'comment y */',
    'keyword and',
    'number 1',
  ]);
  assert.deepEqual(coloured('a.php', '$a = null; # x'), ['property $a', 'number null', 'comment # x']);
  assert.deepEqual(coloured('Dockerfile', 'FROM x'), ['keyword FROM']);
  assert.equal(findLanguage('a.txt'), undefined);
  assert.equal(findLanguage('constructor'), undefined);
});

test('the coloured parts of a line have all its text, in every language', () => {
  const names = [
    'js',
    'ts',
    'py',
    'cpp',
    'php',
    'go',
    'rs',
    'rb',
    'pl',
    'sh',
    'sql',
    'css',
    'scss',
    'html',
    'yaml',
    'toml',
    'ini',
    'tex',
    'swift',
    'ps1',
    'r',
  ];
  const part = fc.constantFrom(
    '"',
    "'",
    '`',
    '/*',
    '*/',
    '<',
    '>',
    '{',
    '}',
    '(',
    '#',
    '//',
    '--',
    '$',
    '\\',
    ' ',
    'a',
    '1',
    '%',
    '=',
    '@',
    '\t',
    'ü',
    '<<E',
  );
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.array(fc.array(part, { maxLength: 12 }), { maxLength: 5 }), (name, lines) => {
      const partsOf = colourLines(findLanguage(`x.${name}`) as NonNullable<ReturnType<typeof findLanguage>>);
      for (const line of lines)
        assert.equal(
          partsOf(line.join(''))
            .map(({ text }) => text)
            .join(''),
          line.join(''),
        );
    }),
    { numRuns: 500 },
  );
});
