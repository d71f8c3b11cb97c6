import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compileAddressRanges } from '../../src/lib/address-ranges.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { namesType, preferredType } from '../../src/lib/headers/accept-header.ts';
import { clientBehindProxies, normaliseAddress } from '../../src/lib/headers/forwarded-header.ts';
import { contentDisposition, isHeaderValue } from '../../src/lib/headers/header-fields.ts';
import { formatHttpDate, parseHttpDate } from '../../src/lib/headers/http-dates.ts';
import { parseIfHeader, submittedTokens } from '../../src/lib/headers/if-header.ts';
import { parseKeyValueList, parseList, writeKeyValueList } from '../../src/lib/list-values.ts';
import { nearestName } from '../../src/lib/nearest-name.ts';

test('If: the examples of RFC 4918 §10.4 are read', () => {
  assert.deepEqual(parseIfHeader('(<urn:uuid:181d4fae> ["I am an ETag"]) (["I am another ETag"])'), [
    {
      resource: undefined,
      conditions: [
        { negated: false, kind: 'token', value: 'urn:uuid:181d4fae' },
        { negated: false, kind: 'etag', value: '"I am an ETag"' },
      ],
    },
    { resource: undefined, conditions: [{ negated: false, kind: 'etag', value: '"I am another ETag"' }] },
  ]);
  assert.deepEqual(parseIfHeader('(Not <urn:uuid:181d4fae> <urn:uuid:58f202ac>)')[0]?.conditions, [
    { negated: true, kind: 'token', value: 'urn:uuid:181d4fae' },
    { negated: false, kind: 'token', value: 'urn:uuid:58f202ac' },
  ]);
  const tagged = parseIfHeader('</resource1> (<urn:uuid:181d4fae> [W/"A weak ETag"]) (["strong ETag"]) </other> ([")("])');
  assert.deepEqual(
    tagged.map((list) => list.resource),
    ['/resource1', '/resource1', '/other'],
  );
  assert.deepEqual(tagged[2]?.conditions, [{ negated: false, kind: 'etag', value: '")("' }], 'brackets in an entity tag');
});

test('If: all tokens in the header count as submitted', () => {
  const lists = parseIfHeader('</a> (<x:1> Not <x:2>) (["e"]) </b> (<x:3>)');
  assert.deepEqual([...submittedTokens(lists)], ['x:1', 'x:2', 'x:3']);
});

const seed = 11;

test('Accept: the offer with the highest quality is chosen; specific ranges precede general ones; equal offers keep their order', () => {
  const offers = ['text/html', 'application/json'];
  const cases: [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['*/*', 'text/html'],
    ['application/json', 'application/json'],
    ['text/html;q=0.5, application/json', 'application/json'],
    ['text/*;q=0.9, */*;q=0.1', 'text/html'],
    ['application/*', 'application/json'],
    ['text/html;q=0, */*', 'application/json'],
    ['image/png', undefined],
    ['TEXT/HTML', 'text/html'],
    ['text/html;level=1', 'text/html'],
    ['application/json; charset=utf-8', 'application/json'],
    ['application/json;charset=utf-8;q=0.4, text/html;q=0.5', 'text/html'],
    ['application/json;v=2, text/html;q=0.9', 'application/json'],
    ['text/html;level=1, text/html;q=0.1, application/json;q=0.5', 'application/json'],
    ['text/html;level=1;q=0.2, text/html;level=2;q=0.6, application/json;q=0.5', 'text/html'],
    ['text/html;q=2, application/json;q=0.1', 'application/json'],
    [',,;;q=1,application/json;q=x', undefined],
  ];
  for (const [accept, expected] of cases) assert.equal(preferredType(accept, offers), expected, String(accept));
  assert.equal(namesType('text/html;q=0.1', 'text/html'), true);
  assert.equal(namesType('text/html;q=0', 'text/html'), false);
  assert.equal(namesType('*/*', 'text/html'), false);
});

test('HTTP dates: three forms are read, one is written, others are refused', () => {
  for (const text of ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])
    assert.equal(parseHttpDate(text), 784_111_777_000, text);
  const wrong = [
    '',
    'now',
    'Sun, 31 Feb 2021 00:00:00 GMT',
    'Sun, 06 Nov 1994 25:00:00 GMT',
    'Sun, 06 Nov 1994 08:49:37 CET',
    '1994-11-06',
  ];
  for (const text of wrong) assert.equal(parseHttpDate(text), undefined, text);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (second) =>
      assert.equal(parseHttpDate(formatHttpDate(second * 1000 + 999)), second * 1000),
    ),
    { seed },
  );
});

test('the forwarded client is the first address from the right that is no trusted proxy, also with ports, IPv6 and quotes', () => {
  const isTrusted = compileAddressRanges(['10.0.0.0/8']);
  const one = { address: '203.0.113.7', port: 0 };
  const cases: [string, string, unknown][] = [
    ['X-Forwarded-For', '203.0.113.7, 10.0.0.1', one],
    ['X-Forwarded-For', '198.51.100.1, 203.0.113.7', one],
    ['X-Forwarded-For', 'garbage, 198.51.100.1, 203.0.113.7, 10.0.0.2, 10.0.0.1', one],
    ['X-Forwarded-For', '10.0.0.9, 10.0.0.1', { address: '10.0.0.9', port: 0 }],
    ['X-Forwarded-For', '203.0.113.7, unknown, 10.0.0.1', { address: '10.0.0.1', port: 0 }],
    ['X-Forwarded-For', '203.0.113.7, unknown', undefined],
    ['X-Forwarded-For', '203.0.113.7,', undefined],
    ['X-Forwarded-For', '', undefined],
    ['X-Forwarded-For', '203.0.113.7:4711', { address: '203.0.113.7', port: 4711 }],
    ['X-Forwarded-For', '2001:db8::1', { address: '2001:db8::1', port: 0 }],
    ['X-Forwarded-For', '[2001:DB8::1]:443', { address: '2001:db8::1', port: 443 }],
    ['X-Forwarded-For', '203.0.113.7, ::ffff:10.0.0.1', one],
    ['X-Forwarded-For', '203.0.113.7:99999', undefined],
    ['Forwarded', 'for=192.0.2.60;proto=http;by=203.0.113.43', { address: '192.0.2.60', port: 0 }],
    ['Forwarded', 'for=1.2.3.4, proto=https; For="[2001:db8:cafe::17]:4711", for=10.0.0.1', { address: '2001:db8:cafe::17', port: 4711 }],
    ['Forwarded', 'for=_hidden', undefined],
    ['Forwarded', 'for="a,b";x=y, for=203.0.113.7', one],
    ['Forwarded', 'for=203.0.113.7;x="a,\\"for=1.2.3.4,b"', one],
    ['Forwarded', 'for="1.2.3.4, for=203.0.113.7', one],
    ['Forwarded', 'for="1.2.3.4\\, for="203.0.113.7:80"', { address: '203.0.113.7', port: 80 }],
  ];
  for (const [name, value, expected] of cases) assert.deepEqual(clientBehindProxies(name, value, isTrusted), expected, value);
  assert.equal(normaliseAddress('fe80::1%eth0'), 'fe80::1');
});

test('lists with the quoting of RFC 4180 are read as they were written', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme-ascii' }), { minLength: 1 }), (items) => {
      const text = items.map((item) => `"${item.replaceAll('"', '""')}"`).join(', ');
      assert.deepEqual(parseList(text), items);
    }),
    { seed },
  );
  for (const text of ['"a', 'a"b', '"a" b']) assert.throws(() => parseList(text), ServiceError);
});

test('metadata of uploads is read as it was written', () => {
  const trimmed = fc.string({ unit: 'grapheme-ascii' }).map((text) => text.trim());
  const key = trimmed.map((text) => text.replaceAll('=', '')).map((text) => text.trim() || 'key');
  fc.assert(
    fc.property(fc.array(fc.record({ key, value: trimmed }, { noNullPrototype: true }), { minLength: 1 }), (items) => {
      assert.deepEqual(parseKeyValueList(writeKeyValueList(items)), items);
    }),
    { seed, numRuns: 1000 },
  );
  const awkward = [{ key: 'a', value: '1,x="y' }];
  assert.deepEqual(parseKeyValueList(writeKeyValueList(awkward)), awkward, 'a quoted comma does not begin an item');
});

test('no file name leaves its Content-Disposition', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const value = contentDisposition('attachment', name);
      assert.ok(isHeaderValue(value) && /^attachment; filename="[^"\\]*"(; filename\*=UTF-8''[\w.!~%-]*)?$/.test(value), value);
    }),
    { seed, numRuns: 1000 },
  );
});

test('a suggested name is near to the given one, or there is no suggestion', () => {
  const known = ['port', 'address', 'home_folder_path'];
  assert.equal(nearestName('prot', known), 'port');
  assert.equal(nearestName('Home_Folder_Path', known), 'home_folder_path');
  assert.equal(nearestName('zzzzzz', known), undefined);
});
