import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseIfHeader, submittedTokens } from '../../src/lib/headers/if-header.ts';

test('the examples of RFC 4918 §10.4', () => {
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

test('tokens are submitted wherever they stand', () => {
  const lists = parseIfHeader('</a> (<x:1> Not <x:2>) (["e"]) </b> (<x:3>)');
  assert.deepEqual([...submittedTokens(lists)], ['x:1', 'x:2', 'x:3']);
});
