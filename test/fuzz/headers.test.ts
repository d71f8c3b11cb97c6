import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseMetadata } from '../../src/http/request/upload-metadata.ts';
import { namesType, preferredType } from '../../src/lib/headers/accept-header.ts';
import { type ByteRange, parseRange } from '../../src/lib/headers/byte-ranges.ts';
import { evaluateConditions } from '../../src/lib/headers/conditional-request.ts';
import { parseExpectedDigests, wantsReprDigest } from '../../src/lib/headers/digest-fields.ts';
import { clientBehindProxies, forwardedHost } from '../../src/lib/headers/forwarded-header.ts';
import { formatHttpDate } from '../../src/lib/headers/http-dates.ts';
import { parseIfHeader } from '../../src/lib/headers/if-header.ts';
import { parseKeyValueList, parseList } from '../../src/lib/list-values.ts';
import { damaged, fuzz, orRefused } from '../support/fuzz.ts';

const number = fc.oneof(fc.constant(''), fc.nat(30).map(String), fc.constantFrom('0', '00', '99999999999999999999', '-1', '1e3', ' 5'));
const spec = fc.tuple(number, fc.constantFrom('-', ' - ', '--', ''), number).map((parts) => parts.join(''));

test('ranges: the selected bytes are those of a byte-by-byte reading of RFC 9110', (t) =>
  fuzz(
    t,
    fc.record({ size: fc.nat(25), specs: fc.array(spec, { maxLength: 5 }), unit: fc.constantFrom('bytes=', 'Bytes =', 'byte=', 'bytes') }),
    ({ size, specs, unit }) => {
      const result = parseRange(`${unit}${specs.join(',')}`, size);
      if (result === undefined || result === 'unsatisfiable') {
        if (result === 'unsatisfiable') for (const text of specs.filter(isSpec)) assert.deepEqual(bytesOf(text, size), [], text);
        return;
      }
      assert.match(unit, /^bytes ?=/i);
      assert.deepEqual(
        result.map(byteNumbers),
        specs
          .filter((text) => text.trim() !== '')
          .map((text) => bytesOf(text, size))
          .filter((bytes) => bytes.length > 0),
      );
    },
    { share: 4 },
  ));

function isSpec(text: string): boolean {
  return /^\s*(\d+\s*-\s*\d*|-\s*\d+)\s*$/.test(text);
}

/** Returns the bytes that one range selects, by testing every byte. */
function bytesOf(text: string, size: number): number[] {
  const [first = '', last = ''] = text
    .trim()
    .split('-')
    .map((part) => part.trim());
  const all = Array.from({ length: size }, (_, index) => index);
  if (first === '') return all.filter((index) => index >= size - Number(last));
  return all.filter((index) => index >= Number(first) && (last === '' || index <= Number(last)));
}

function byteNumbers({ start, end }: ByteRange): number[] {
  return Array.from({ length: end - start + 1 }, (_, index) => start + index);
}

const etags = ['"a"', '"b"', 'W/"a"', '*', '"a", "b"', 'garbage', '', '"b", W/"a"'];
const times = [1_700_000_000_000, 1_700_000_001_000, 1_700_000_002_500];
const date = fc.oneof(fc.constantFrom(...times).map(formatHttpDate), fc.constantFrom('', 'now', '0'));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

test('conditions: the result is that of RFC 9110 §13.2.2, step by step', (t) =>
  fuzz(
    t,
    fc.record({
      method: fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE'),
      match: maybe(fc.constantFrom(...etags)),
      none: maybe(fc.constantFrom(...etags)),
      modified: maybe(date),
      unmodified: maybe(date),
      current: maybe(fc.record({ etag: fc.constantFrom('"a"', '"c"'), lastModifiedMs: fc.constantFrom(...times) })),
    }),
    ({ method, match, none, modified, unmodified, current }) => {
      const headers = { 'if-match': match, 'if-none-match': none, 'if-modified-since': modified, 'if-unmodified-since': unmodified };
      const isRead = method === 'GET' || method === 'HEAD';
      const strong = (text: string) => text === '*' || text.split(/,\s*/).includes(current?.etag ?? '-');
      const weak = (text: string) => strong(text.replaceAll('W/', ''));
      const second = (timeMs: number) => Math.floor(timeMs / 1000);
      const sent = (text: string) => times.find((timeMs) => formatHttpDate(timeMs) === text);
      const verdict = () => {
        if (match !== undefined && !(current && strong(match))) return 'precondition-failed';
        const not = unmodified === undefined ? undefined : sent(unmodified);
        if (match === undefined && current && not !== undefined && second(current.lastModifiedMs) > second(not))
          return 'precondition-failed';
        if (none !== undefined && current && weak(none)) return isRead ? 'not-modified' : 'precondition-failed';
        const since = modified === undefined ? undefined : sent(modified);
        if (none === undefined && isRead && current && since !== undefined && second(current.lastModifiedMs) <= second(since))
          return 'not-modified';
        return 'proceed';
      };
      assert.equal(evaluateConditions({ method, headers, current }), verdict());
    },
    { share: 4 },
  ));

const mediaRange = fc.constantFrom(
  ...'text/html application/json application/zip text/* */* image/png TEXT/HTML text/html;level=1'.split(' '),
);
const weight = fc.constantFrom('', ';q=0', ';q=0.1', ';q=0.5', '; q=1', ';q=2', ';q=x');

test('Accept: an offer with quality 0 is never chosen, and the order of different ranges does not matter', (t) =>
  fuzz(
    t,
    fc.uniqueArray(fc.tuple(mediaRange, weight), { maxLength: 6, selector: ([range]) => range.toLowerCase() }),
    (elements) => {
      const offers = ['text/html', 'application/json', 'application/zip'];
      const texts = elements.map((element) => element.join(''));
      const chosen = preferredType(texts.join(', '), offers);
      assert.equal(preferredType(texts.toReversed().join(','), offers), chosen);
      assert.ok(chosen === undefined || offers.includes(chosen));
      for (const [range, quality] of elements) if (quality === ';q=0' && !range.includes(';')) assert.notEqual(chosen, range.toLowerCase());
    },
    { share: 2 },
  ));

const headerSeeds = [
  'text/html;q=0.5, application/json, */*;q=0.1',
  'key=a, key="b, c", "other=x ""y"""',
  'for="[2001:db8::17]:4711";proto=https;host="files.example", for=10.0.0.1',
  'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:;x=1, md5=:x:',
  '<http://x/home/a> (Not <urn:uuid:1> ["etag"]) (["W/x"] <DAV:no-lock>)',
  'MD5:d41d8cd98f00b204e9800998ecf8427e SHA1:da39a3ee',
  'bytes=0-1, 5-, -3',
  '</x> (Not W/ <a:b> ["e"]) "()',
  '203.0.113.7:4711, 10.0.0.1',
];

test('no header makes a parser throw anything except a refusal', (t) =>
  fuzz(
    t,
    damaged(headerSeeds),
    (text) => {
      preferredType(text, ['text/html']);
      namesType(text, 'text/html');
      clientBehindProxies('Forwarded', text, () => true);
      clientBehindProxies('X-Forwarded-For', text, () => true);
      forwardedHost(text);
      wantsReprDigest(text);
      orRefused(() => parseKeyValueList(text));
      orRefused(() => parseList(text));
      orRefused(() => parseIfHeader(text));
      orRefused(() => parseMetadata({ header: 'x', required: true, keys: [{ pattern: 'k*', required: true }] }, text));
      for (const name of ['content-digest', 'repr-digest', 'oc-checksum', 'content-md5'])
        orRefused(() => parseExpectedDigests({ [name]: text }));
    },
    { share: 2 },
  ));

test('digests with an unknown algorithm of any name are ignored', () => {
  for (const name of ['md5', 'unixsum', 'constructor', 'tostring'])
    assert.deepEqual(parseExpectedDigests({ 'content-digest': `${name}=:AAAA:` }), [], name);
});

test('hostile headers of 300,000 characters are read or refused within seconds', () => {
  const many = 300_000;
  const tabs = '\t'.repeat(many);
  const texts = [
    `a,${tabs}x`,
    `${tabs}"`,
    'a'.repeat(many),
    `sha-256${' '.repeat(many)}x`,
    `sha-256=:${'A'.repeat(many)}`,
    `"${'""'.repeat(many / 2)}x`,
    `for="${'\\"'.repeat(many / 2)}`,
    `${'"'.repeat(many)} `,
    `for="${'\\'.repeat(many)}"`,
    'for=10.0.0.1,'.repeat(many / 10),
    `x=${tabs},y`,
    `(${'<a>'.repeat(many / 3)}`,
  ];
  const startedMs = performance.now();
  for (const text of texts) {
    preferredType(text, ['text/html']);
    clientBehindProxies('Forwarded', text, () => true);
    forwardedHost(text);
    wantsReprDigest(text);
    parseRange(text, 5);
    for (const parse of [parseKeyValueList, parseList, parseIfHeader]) orRefused(() => parse(text));
    for (const name of ['content-digest', 'oc-checksum', 'content-md5']) orRefused(() => parseExpectedDigests({ [name]: text }));
  }
  assert.ok(performance.now() - startedMs < 10_000, 'it would take minutes if a parser went back and forth');
});
