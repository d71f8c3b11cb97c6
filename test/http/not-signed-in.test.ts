import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestReply } from '../support/client.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const basic = 'basic realm="Web files access"';
const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const asForm = { 'content-type': 'application/x-www-form-urlencoded' };
const gone = { authorization: 'session gone' };
const cookie = { cookie: 'other=1; SVC_HTTP_SESSION=gone' };

function challenges({ rawHeaders }: TestReply): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'www-authenticate');
}

test('an invalid session in Authorization gets 401 with both challenges, as a page or as JSON, also for scripts', async (t) => {
  const server = await startServer(t);
  for (const headers of [
    {},
    html,
    { accept: 'text/html' },
    { 'x-requested-with': 'x' },
    { 'sec-fetch-dest': 'empty' },
    { ...html, ...cookie },
  ]) {
    for (const authorization of ['session gone', 'Session', 'SESSION  x']) {
      for (const target of ['/home/', '/home/a', '/home/__svc__/password-update']) {
        const reply = await server.get(target, { user: null, headers: { ...headers, authorization } });
        const what = `${target} ${authorization} ${JSON.stringify(headers)}`;
        assert.equal(reply.status, 401, what);
        assert.deepEqual(challenges(reply), [basic, 'session'], what);
        if ('accept' in headers) assert.match(reply.text, /<main/, what);
        else assert.equal(reply.json<{ errors: { title: string }[] }>().errors[0]?.title, 'Unauthorized', what);
      }
    }
  }
  assert.match(
    (await server.get('/home/', { user: null, headers: { ...gone, accept: 'text/html' } })).headers['content-type'] ?? '',
    /^text\/html/,
  );
});

for (const announced of [true, false]) {
  test(`requests of a page never open the browser's password dialog, with session authentication ${announced ? '' : 'not '}announced`, async (t) => {
    const server = await startServer(t, { service: { announce_session_authentication: announced } });
    const without = announced ? [basic, 'session'] : [basic];
    const wrong = { authorization: `Basic ${Buffer.from('alice:wrong').toString('base64')}` };
    const expected: [Record<string, string>, string[]][] = [
      [{}, without],
      [{ 'sec-fetch-dest': 'document' }, without],
      [{ cookie: 'other=1' }, without],
      [{ 'sec-fetch-dest': 'empty' }, ['session']],
      [{ 'sec-fetch-dest': 'image', accept: 'image/avif,image/webp,*/*;q=0.8' }, ['session']],
      [{ 'sec-fetch-dest': 'iframe' }, ['session']],
      [{ 'x-requested-with': 'XMLHttpRequest' }, ['session']],
      [{ 'x-requested-with': 'fetch' }, ['session']],
      [cookie, ['session']],
      [{ ...cookie, 'sec-fetch-dest': 'document' }, ['session']],
    ];
    for (const [headers, challenge] of expected) {
      for (const more of [{}, wrong]) {
        const reply = await server.get('/home/a.png', { user: null, headers: { ...headers, ...more } });
        assert.equal(reply.status, 401, JSON.stringify(headers));
        assert.deepEqual(challenges(reply), challenge, JSON.stringify(headers));
      }
    }
  });
}

test('a browser is redirected to the login page, with a Basic challenge, and after the login to the requested page', async (t) => {
  const server = await startServer(t);
  for (const [wanted, headers] of [
    ['/home/', {}],
    ['/home/a%20b/?sort=size', cookie],
    ['/home/%41%2e..', {}],
    ['/home/50%25%23%5C.txt?inline', {}],
    ['/home/__svc__/password-update', {}],
  ] as const) {
    const reply = await server.get(wanted, { user: null, headers: { ...html, ...headers } });
    assert.equal(reply.status, 302, wanted);
    assert.deepEqual(challenges(reply), [basic]);
    const next = new URL(reply.headers.location ?? '', server.url).searchParams.get('next');
    const body = new URLSearchParams({ username: 'alice', password: testPassword, ...(next === null ? {} : { next }) }).toString();
    const login = await server.send('POST', '/__svc__/login', { user: null, headers: { ...html, ...asForm }, body });
    assert.equal(login.status, 302);
    const same = (url: string) => decodeURIComponent(url);
    assert.equal(same(login.headers.location ?? ''), same(wanted));
  }
});

test('with any value of next, a login leads to a page below /home/, and nowhere else', async (t) => {
  const server = await startServer(t);
  const signIn = async (next: string, inQuery: boolean) => {
    const fields = new URLSearchParams({ username: 'alice', password: testPassword, ...(inQuery ? {} : { next }) });
    const query = inQuery ? `?next=${encodeURIComponent(next)}` : '';
    const reply = await server.send('POST', `/__svc__/login${query}`, {
      user: null,
      headers: { ...html, ...asForm },
      body: fields.toString(),
    });
    assert.equal(reply.status, 302);
    return reply;
  };
  const evil = [
    '/home/../__svc__/logout',
    '/home/./../__svc__/logout',
    '/home//../__svc__/logout',
    '/home/a/../../__svc__/logout',
    '/home/%2e%2e/__svc__/logout',
    '/home/.%2E/__svc__/logout',
    '/home/%2e./__svc__/logout?x',
    '/home/..%2f__svc__/logout',
    '/home/%2e%2e%2f__svc__/logout',
    '/home/%252e%252e/__svc__/logout',
    '/home/..\\__svc__\\logout',
    '/home\\..\\__svc__/logout',
    '/home/\t../__svc__/logout',
    '/home/.\n./__svc__/logout',
    '/home/a#/../../__svc__/logout',
    '/__svc__/logout',
    '__svc__/logout',
    '//evil.example/home/',
    '/\\evil.example/home/',
    '///evil.example',
    '//home/a',
    'https://evil.example/home/a',
    'http:/home/a',
    'https:evil.example',
    'javascript:alert(1)',
    '/home/%ff',
    '/home/%00',
    '/home/%zz',
    '/home/ü',
    '/homeless/',
    '/home',
    '',
    ' /home/a',
    '/home/\r\nx: y',
  ];
  for (const next of evil) {
    for (const inQuery of [false, true]) {
      const { headers } = await signIn(next, inQuery);
      const location = headers.location ?? '';
      const seen = new URL(location, server.url);
      assert.equal(seen.origin, server.url, next);
      assert.match(seen.pathname, /^\/home\//, `${JSON.stringify(next)} leads to ${location}`);
      const session = headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      await server.get(seen.pathname + seen.search, { user: null, headers: { ...html, cookie: session } });
      assert.equal((await server.get('/home/', { user: null, headers: { cookie: session } })).status, 200, `${next} did not sign out`);
    }
  }
});
