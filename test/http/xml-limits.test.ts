import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseXml, xmlRefusal } from '../../src/lib/xml/xml-parser.ts';
import { startServer } from '../support/server.ts';
import { propfind } from '../support/webdav.ts';

const propfindOf = (inner: string, more = '') => `<propfind xmlns="DAV:"${more}><prop>${inner}</prop></propfind>`;
const times = (count: number, text: (index: number) => string) => Array.from({ length: count }, (_, index) => text(index)).join('');
const declarations = (count: number, start = 0) => times(count, (index) => ` xmlns:p${start + index}="u"`);

/** Bodies that would be expensive to parse, all below 1 MiB. */
const costly: Record<string, string> = {
  '40,000 declarations on the root, 4,900 elements with one each': propfindOf(
    times(4900, (index) => `<a xmlns:q="u${index}"/>`),
    declarations(40_000),
  ),
  'a million bytes of empty elements': propfindOf('<a/>'.repeat(250_000)),
  '300,000 attributes without a value': `<propfind xmlns="DAV:"${' a'.repeat(300_000)}/>`,
  '300,000 signs of equality': `<propfind xmlns="DAV:" ${'a='.repeat(300_000)}"x"/>`,
  '100,000 attributes of many elements': propfindOf(times(20_000, () => `<a b="" c="" d="" e="" f=""/>`)),
  'a long name around 4,900 elements': `<${'n'.repeat(450_000)} xmlns="DAV:">${'<b/>'.repeat(4900)}</${'n'.repeat(450_000)}>`,
  '250 properties in a long namespace': propfindOf(
    times(250, (index) => `<x:p${index}/>`),
    ` xmlns:x="${'n'.repeat(1_000_000)}"`,
  ),
  'elements in one another': '<a>'.repeat(300_000),
  'beginnings of tags': '<a '.repeat(300_000),
  'one long text': propfindOf('x'.repeat(900_000)),
  'a text in 75,000 sections': propfindOf('<![CDATA[]]>'.repeat(75_000)),
  'a text between 110,000 comments': propfindOf('x<!---->'.repeat(110_000)),
};

test('expensive PROPFIND bodies are refused before they are parsed, and other clients are served', async (t) => {
  const server = await startServer(t);
  /** Returns the CPU time in ms for sending and receiving a body. */
  const costMs = async (body: string) => {
    const before = process.cpuUsage();
    await server.send('PROPFIND', '/home/', { body });
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  const harmless = ' '.repeat(1_000_000);
  await costMs(harmless);
  const harmlessMs = Math.max(await costMs(harmless), 10);
  for (const [what, body] of Object.entries(costly)) {
    const replies = await Promise.all([server.send('PROPFIND', '/home/', { body }), server.get('/home/')]);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [400, 200],
      what,
    );
    assert.ok((replies[0]?.text.length ?? 0) < 1000, `${what}: a short answer`);
    // Without these limits, one of the bodies takes 75 s of CPU time. With them, only sending and receiving it takes CPU time.
    let ownMs = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 3 && ownMs > 30 * harmlessMs; attempt++) ownMs = Math.min(ownMs, await costMs(body));
    assert.ok(ownMs <= 30 * harmlessMs, `${what}: ${ownMs} ms where a harmless body takes ${harmlessMs} ms`);
  }
  assert.deepEqual(new Set(await server.eventIds()), new Set([40019, 40007]));
});

test('bodies at the limits are answered', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'x');
  const wide = propfindOf(`<getcontentlength/>${times(15, (index) => `<x${declarations(62, index * 62)}/>`)}`);
  const many = `<propfind xmlns="DAV:"><prop><getcontentlength/></prop>${'<x/>'.repeat(4996)}<x/></propfind>`;
  for (const body of [wide, many]) {
    const { responses } = await propfind(server, '/home/a', '0', body);
    assert.equal(responses[0]?.found['{DAV:}getcontentlength'], '1');
  }
});

test('each limit is exact', () => {
  const one = (attributes: number) => `<a${times(attributes, (index) => ` b${index}="&lt;>"`)}/>`;
  const cases: [string, string | undefined][] = [
    [`<r>${'<a/>'.repeat(4999)}</r>`, undefined],
    [`<r>${'<a></a>'.repeat(5000)}</r>`, 'More than 5000 elements.'],
    [one(64), undefined],
    [one(65), 'An element with more than 64 attributes.'],
    [`<a${declarations(65)}/>`, 'An element with more than 64 attributes.'],
    [`<r>${one(50).repeat(20)}</r>`, undefined],
    [`<r>${one(50).repeat(20)}<a b=""/></r>`, 'More than 1000 attributes.'],
    ['<a>'.repeat(50) + '</a>'.repeat(50), undefined],
    ['<a>'.repeat(51) + '</a>'.repeat(51), 'Elements are nested deeper than 50 levels.'],
    [`<r><${'n'.repeat(256)} b=""/><${'n'.repeat(256)}></${'n'.repeat(256)}></r>`, undefined],
    [`<r><${'n'.repeat(257)} b=""/></r>`, 'A name of more than 256 characters.'],
    [`<r><!-- ${'<a b="">'.repeat(6000)} --><![CDATA[${'<a>'.repeat(6000)}]]><?p ${'<a>'.repeat(6000)}?></r>`, undefined],
    [`<r b='${'<a "="">'.repeat(6000)}'/>`, undefined],
    [`<r>${'x'.repeat(2 ** 17)}<a/>${'x'.repeat(2 ** 17)}</r>`, undefined],
    [`<r>${'x'.repeat(2 ** 17)}<a/>${'x'.repeat(2 ** 17 + 1)}</r>`, 'More than 262144 characters of text.'],
    [`<r><![CDATA[${'x'.repeat(2 ** 18)}]]></r>`, 'More than 262144 characters of text.'],
    [`<r>${'<!---->'.repeat(1000)}</r>`, undefined],
    [`<r>${'<!---->'.repeat(1001)}</r>`, 'More than 1000 comments and sections.'],
    ['<r><!-- </r>', '"<!--" has no end.'],
    ['<r><![CDATA[ </r>', '"<![CDATA[" has no end.'],
    ['<r><? </r>', '"<?" has no end.'],
    ['<r></r', '"<" has no end.'],
    ['<r a="></r>', 'A tag has no end.'],
    ['<r a', 'A tag has no end.'],
    ['<!-- c -->\n<?p?><r>a</r> <!-- d -->\n', undefined],
    ['a<r/>', 'There is text around the root.'],
    ['<r/>&#32;<!-- c -->', 'There is text around the root.'],
    ['<r/>\u00a0', 'There is text around the root.'],
    ['<r/><![CDATA[]]>', 'There is text around the root.'],
    ['', undefined],
  ];
  for (const [text, reason] of cases) assert.equal(xmlRefusal(text), reason, text.slice(0, 80));
});

test('references to characters that XML does not allow are refused everywhere', () => {
  const codes = ['0', '1', '8', '11', '31', 'xD800', 'xDFFF', 'xFFFE', 'xffff', 'x110000', '9'.repeat(400), 'X41', '', 'x', '-1', ' 65'];
  for (const place of ['<a>HERE</a>', '<a b="HERE"/>', '<a xmlns:b="HERE"/>', '<a><b><c d="x">HERE</c></b></a>', '<a/>HERE', 'HERE<a/>'])
    for (const reference of [...codes.map((code) => `&#${code};`), '&#65', '&', '&;', '&nbsp;', '&a'])
      assert.throws(() => parseXml(place.replace('HERE', reference)), { code: 'bad-request' }, place.replace('HERE', reference));
  assert.throws(() => parseXml('<a b="<"/>'), { code: 'bad-request' });
  const text = (reference: string) => parseXml(`<a>${reference}</a>`).text;
  assert.deepEqual(
    ['&#9;', '&#xA;', '&#13;', '&#32;', '&#xD7FF;', '&#xe000;', '&#xFFFD;', '&#x1F600;', '&#x10ffff;', '&#000000065;', '&apos;'].map(text),
    ['\t', '\n', '\r', ' ', '\ud7ff', '\ue000', '\ufffd', '\u{1f600}', '\u{10ffff}', 'A', "'"],
  );
});

test('the nearest declaration of a namespace applies', () => {
  const root = parseXml('<p:a xmlns:p="1" xmlns="2"><b xmlns=""><p:c xmlns:p="3"><p:d/></p:c><p:e/></b><f/></p:a>');
  const all = (element: typeof root): string[] => [`${element.namespace} ${element.name}`, ...element.children.flatMap(all)];
  assert.deepEqual(all(root), ['1 a', ' b', '3 c', '3 d', '1 e', '2 f']);
});
