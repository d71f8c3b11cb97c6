import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeRedisAddress, parseRedisUrl } from '../../src/lib/redis/redis-url.ts';

test('URLs of one server, of Sentinel and of a cluster are read', () => {
  assert.deepEqual(parseRedisUrl('redis://localhost'), {
    kind: 'single',
    hosts: [{ host: 'localhost', port: 6379 }],
    isTls: false,
    username: '',
    password: '',
    primaryName: '',
    database: 0,
  });
  const full = parseRedisUrl('rediss://no%40de:p%3Aw@[::1]:7000/3');
  assert.deepEqual(
    [full.isTls, full.username, full.password, full.hosts, full.database],
    [true, 'no@de', 'p:w', [{ host: '::1', port: 7000 }], 3],
  );
  assert.deepEqual(parseRedisUrl('redis://:pw@h').password, 'pw');
  const sentinel = parseRedisUrl('redis+sentinel://u:p@a:1,b/primary/2');
  assert.deepEqual(
    [sentinel.kind, sentinel.hosts, sentinel.primaryName, sentinel.database],
    [
      'sentinel',
      [
        { host: 'a', port: 1 },
        { host: 'b', port: 26379 },
      ],
      'primary',
      2,
    ],
  );
  assert.equal(describeRedisAddress(sentinel), 'primary at a:1, b:26379');
  assert.equal(parseRedisUrl('rediss+cluster://a,b,c').hosts.length, 3);
});

test('an invalid URL is refused without showing its password', () => {
  for (const text of [
    '',
    'redis',
    'redis://',
    'http://a',
    'redis://a,b',
    'redis://a:0',
    'redis://a:99999',
    'redis://a/x',
    'redis://a/1/2',
    'redis+sentinel://a',
    'redis+cluster://a/1',
    'redis://u:%zz@a',
    'redis://u:secret@a:x',
  ])
    assert.throws(
      () => parseRedisUrl(text),
      (error: Error) => error.message.startsWith('server.state.url: ') && !error.message.includes('secret'),
      text,
    );
});
