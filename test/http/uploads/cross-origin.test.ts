import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startServer } from '../../support/server.ts';

const origin = 'https://app.example';

test('pages from cors_origins can use the API, with Authorization but not with cookies; other pages cannot', async (t) => {
  const server = await startServer(t, { service: { cors_origins: [origin] } });
  const ask = { origin, 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization, upload-offset' };
  for (const target of ['/home/a', '/home/', '/home/__svc__/uploads/', '/__svc__/login']) {
    const reply = await server.send('OPTIONS', target, { user: null, headers: ask });
    assert.equal(reply.status, 204, target);
    assert.equal(reply.headers['access-control-allow-origin'], origin);
    assert.equal(reply.headers['access-control-allow-headers'], ask['access-control-request-headers']);
    assert.ok(String(reply.headers['access-control-allow-methods']).split(', ').includes('PATCH'));
    assert.equal(reply.headers['access-control-allow-credentials'], undefined);
    const other = await server.send('OPTIONS', target, { user: null, headers: { ...ask, origin: 'https://evil.example' } });
    assert.equal(other.headers['access-control-allow-origin'], undefined);
    assert.equal(other.headers['access-control-allow-methods'], undefined);
    assert.equal(other.headers.vary, 'origin', 'caches keep replies to different origins apart');
  }
  const put = await server.put('/home/a', 'x', { headers: { origin } });
  assert.deepEqual(
    [put.status, put.headers['access-control-allow-origin'], put.headers['access-control-expose-headers']],
    [201, origin, '*'],
  );
  for (const [target, status] of [
    ['/home/a', 200],
    ['/home/', 200],
    ['/home/none', 404],
  ] as const) {
    const reply = await server.get(target, { headers: { origin, accept: 'application/json' } });
    assert.deepEqual([reply.status, reply.headers['access-control-allow-origin']], [status, origin]);
    assert.match(String(reply.headers.vary), /(^|, )origin(,|$)/);
  }
  assert.equal((await server.put('/home/b', 'x', { headers: { origin: 'https://evil.example' } })).status, 400);
  const refused = await server.get('/home/a', { user: null, headers: { origin } });
  assert.deepEqual([refused.status, refused.headers['access-control-allow-origin']], [401, origin]);
  const cookie = `SVC_HTTP_SESSION=${await server.login()}`;
  assert.equal((await server.get('/home/a', { user: null, headers: { cookie } })).status, 200);
  assert.equal((await server.get('/home/a', { user: null, headers: { cookie, origin } })).status, 401, 'the cookie is ignored');
});

test('without cors_origins no CORS header is sent', async (t) => {
  const server = await startServer(t);
  const reply = await server.get('/home/', { headers: { origin, accept: 'application/json' } });
  assert.deepEqual([reply.headers['access-control-allow-origin'], reply.headers.vary], [undefined, 'accept, content-type']);
});
