import assert from 'node:assert/strict';
import { test } from 'node:test';
import { amzDate, authorization } from '../../../src/webhooks/forward/s3-target.ts';

// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, "Examples: Signature calculations".
const keys = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
const where = { date: '20130524T000000Z', region: 'us-east-1', service: 's3' };
const host = 'examplebucket.s3.amazonaws.com';
const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const shared = { host, 'x-amz-content-sha256': empty, 'x-amz-date': where.date };
const welcome = '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072';

const examples: { name: string; signature: string; request: Parameters<typeof authorization>[0] }[] = [
  {
    name: 'GET Object',
    signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    request: { method: 'GET', path: '/test.txt', query: [], headers: { ...shared, range: 'bytes=0-9' }, bodyHash: empty },
  },
  {
    name: 'PUT Object',
    signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    request: {
      method: 'PUT',
      path: '/test%24file.text',
      query: [],
      headers: {
        ...shared,
        date: 'Fri, 24 May 2013 00:00:00 GMT',
        'x-amz-content-sha256': welcome,
        'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      },
      bodyHash: welcome,
    },
  },
  {
    name: 'GET Bucket Lifecycle',
    signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    request: { method: 'GET', path: '/', query: [['lifecycle', '']], headers: shared, bodyHash: empty },
  },
  {
    name: 'Get Bucket (List Objects)',
    signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    request: {
      method: 'GET',
      path: '/',
      query: [
        ['prefix', 'J'],
        ['max-keys', '2'],
      ],
      headers: shared,
      bodyHash: empty,
    },
  },
];

for (const { name, signature, request } of examples)
  test(`signature version 4: the published example "${name}"`, () => {
    assert.match(authorization(request, keys, where), new RegExp(`Signature=${signature}$`));
  });

test('signature version 4: get-vanilla and get-vanilla-query-order-key of the test suite of AWS', () => {
  const suite = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
  const at = { date: '20150830T123600Z', region: 'us-east-1', service: 'service' };
  const headers = { host: 'example.amazonaws.com', 'x-amz-date': at.date };
  const vanilla = { method: 'GET', path: '/', query: [], headers, bodyHash: empty };
  assert.equal(
    authorization(vanilla, suite, at),
    'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  );
  const query = [
    ['Param2', 'value2'],
    ['Param1', 'value1'],
  ] as const;
  assert.match(
    authorization({ ...vanilla, query }, suite, at),
    /Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500$/,
  );
});

test('the time of a signature has no punctuation and no fraction', () => {
  assert.equal(amzDate(Date.UTC(2013, 4, 24, 1, 2, 3, 456)), '20130524T010203Z');
});
