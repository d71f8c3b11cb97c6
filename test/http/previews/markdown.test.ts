import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeEntities, linkUrl, pictureUrl, readMarkdown, withoutTags } from '../../../src/web/files/previews/text/markdown-tokens.ts';

const never = new AbortController().signal;
const place = { url: 'https://files.example/home/docs/readme.md', rootUrl: 'https://files.example/home/' };

test('links lead to the web, to a mail address, or to files of the account, and nowhere else', () => {
  const cases: [string, string | undefined][] = [
    ['other.md', 'https://files.example/home/docs/other.md'],
    ['../a%20b.txt', 'https://files.example/home/a%20b.txt'],
    ['https://example.com/x?y#z', 'https://example.com/x?y#z'],
    ['HTTP://example.com', 'http://example.com/'],
    ['mailto:a@example.com', 'mailto:a@example.com'],
    ['javascript:alert(1)', undefined],
    [' java\nscript:alert(1)', undefined],
    ['data:text/html,x', undefined],
    ['vbscript:x', undefined],
    ['file:///etc/passwd', undefined],
    ['blob:https://files.example/1', undefined],
    ['/__svc__/logout', undefined],
    ['../../__svc__/logout', undefined],
    ['https://files.example/__svc__/logout', undefined],
    ['//example.com/x', 'https://example.com/x'],
    ['http://[', undefined],
  ];
  for (const [href, url] of cases) assert.equal(linkUrl(href, place), url, href);
  assert.equal(linkUrl('other.md', undefined), undefined, 'a relative link in an archive leads nowhere');
  assert.equal(linkUrl('https://example.com/', undefined), 'https://example.com/');
});

test('pictures can only be files of the account', () => {
  assert.equal(pictureUrl('a.png?download#x', place), 'https://files.example/home/docs/a.png?inline');
  for (const href of ['https://example.com/a.png', '//example.com/a.png', '/__svc__/logout', 'data:image/png;base64,AA', 'javascript:1'])
    assert.equal(pictureUrl(href, place), undefined, href);
  assert.equal(pictureUrl('a.png', undefined), undefined);
});

test('HTML is reduced to its text, without scripts, styles and comments', () => {
  const cases = [
    ['<b>bold</b> &amp; more', 'bold &amp; more'],
    ['a<script>alert("<b>")</script>b', 'ab'],
    ['a<STYLE>p {}</style >b', 'ab'],
    ['a<!-- <b> -->b', 'ab'],
    ['a<!-- open', 'a'],
    ['a <', 'a '],
    ['<img src=x onerror=alert(1)>', ''],
    ['1 < 2 > 1', '1  1'],
  ] as const;
  for (const [html, text] of cases) assert.equal(withoutTags(html), text, html);
  assert.equal(decodeEntities('&lt;b&gt; &#x41;&#66; &nope; &constructor; &#0; &#x110000;'), '<b> AB &nope; &constructor; \ufffd \ufffd');
});

const size = 100_000;
const hostile: Record<string, string> = {
  'open brackets': '['.repeat(size),
  'open links': '[a]('.repeat(size / 4),
  'open pictures': '![a]('.repeat(size / 5),
  'nested brackets': `${'['.repeat(size / 2)}a${']'.repeat(size / 2)}`,
  emphasis: '*a **a '.repeat(size / 7),
  'closing emphasis': 'a** '.repeat(size / 4),
  underscores: '_'.repeat(size),
  strike: '~~a '.repeat(size / 4),
  backticks: Array.from({ length: 400 }, (_, count) => `e${'`'.repeat(count)}`).join(''),
  quotes: '>'.repeat(size),
  lists: '- '.repeat(size / 2),
  'deep lists': Array.from({ length: 400 }, (_, depth) => `${' '.repeat(depth * 2)}- a\n`).join(''),
  'numbered lists': '1. '.repeat(size / 3),
  tags: '<'.repeat(size),
  'open tags': '<a '.repeat(size / 3),
  comments: '<!--'.repeat(size / 4),
  table: `${'|'.repeat(size / 2)}\n${'|-'.repeat(size / 4)}\n`,
  references: '[a]: b\n'.repeat(size / 7),
  'open references': `${'[a]:'.repeat(size / 4)}`,
  entities: '&'.repeat(size),
  addresses: 'a@'.repeat(size / 2),
  urls: 'http://'.repeat(size / 7),
  spaces: `a${' '.repeat(size)}b`,
  lines: '\n'.repeat(size),
  headings: '#'.repeat(size),
  backslashes: '\\'.repeat(size),
};

for (const [what, text] of Object.entries(hostile)) {
  test(`the parsing of hostile Markdown ends: ${what}`, async () => {
    await readMarkdown(text, never);
  });
}

test('any Markdown is parsed or refused', async () => {
  const piece = fc.constantFrom(
    '*',
    '_',
    '[',
    ']',
    '(',
    ')',
    '!',
    '`',
    '>',
    '-',
    '1.',
    ' ',
    '\n',
    '#',
    '<b>',
    '|',
    'a',
    '\\',
    '~~',
    'http://a',
    '&amp;',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (parts) => {
      await readMarkdown(parts.join(''), never);
    }),
    { numRuns: 500 },
  );
});
