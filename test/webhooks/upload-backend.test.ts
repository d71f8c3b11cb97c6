import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import type { TestReply } from '../support/client.ts';
import { type Answer, startReceiver, until } from '../support/receiver.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const service = {
  api_backend_uuid: 'backend',
  api_passthrough_headers: 'x-receipt, X-Scan',
  api_partial_success_headers: 'x-receipt: pending\nx-note: later',
};
const backend = (url: string | string[], options: Record<string, unknown> = {}) => ({
  backend: { type: 'http', target: '40017', data_filter: 'api_backend, yes', url, timeout: 30, fail_after_errors: 0, ...options },
});

test('the reply to an upload has the configured headers that the back-end sent, with names as configured', async (t) => {
  const receiver = await startReceiver(t, {
    otherwise: {
      status: 202,
      headers: { 'X-Receipt': 'r-1', 'x-scan': 'clean', 'x-other': 'no', 'content-type': 'text/plain', 'set-cookie': 'a=b' },
    },
  });
  const others = await startReceiver(t);
  const server = await startServer(t, {
    service,
    event_handlers: { ...backend(receiver.url), crm: { type: 'http', target: '40017', url: others.url } },
  });
  const reply = await server.put('/home/a.txt', 'hello');
  assert.equal(reply.status, 201);
  assert.equal(reply.headers['server-path'], '/a.txt');
  assert.equal(reply.headers['x-receipt'], 'r-1');
  assert.equal(reply.headers['x-scan'], 'clean');
  assert.ok(reply.rawHeaders.includes('X-Scan'), 'the name of the header is written as in the configuration');
  for (const name of ['x-other', 'set-cookie', 'x-note']) assert.equal(reply.headers[name], undefined, name);
  await receiver.received(1);
  const [event] = receiver.events();
  assert.equal(event?.data.api_backend, 'yes');
  assert.equal(event?.data.path, '/a.txt');
  await others.received(1);
  await until('two events 20189', async () => (await server.eventIds()).filter((id) => id === 20189).length === 2);
  assert.equal(receiver.requests.length, 1, 'the event is not delivered a second time in the background');
  assert.equal((await server.eventIds()).includes(40060), false);
});

test('form uploads wait for the back-end, too, and the back-end gets each file once', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { headers: { 'x-receipt': 'r-2' } } });
  const server = await startServer(t, { service, event_handlers: backend(receiver.url) });
  const form = [
    '--b\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n',
    '--b\r\nContent-Disposition: form-data; name="upload-file"; filename="1.txt"\r\n\r\none\r\n',
    '--b\r\nContent-Disposition: form-data; name="upload-file"; filename="2.txt"\r\n\r\ntwo\r\n--b--\r\n',
  ].join('');
  const reply = await server.send('POST', '/home/', {
    headers: { 'content-type': 'multipart/form-data; boundary=b', accept: 'application/json' },
    body: form,
  });
  assert.equal(reply.status, 201, reply.text);
  assert.equal(reply.headers['x-receipt']?.includes('r-2'), true);
  await receiver.received(2);
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/1.txt', '/2.txt'],
  );
});

/** Returns the form that uploads a file to `/d/`. */
function uploadForm(accept: string) {
  const body = [
    '--b\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n',
    '--b\r\nContent-Disposition: form-data; name="upload-file"; filename="ü %41.txt"\r\n\r\none\r\n--b--\r\n',
  ].join('');
  return { headers: { 'content-type': 'multipart/form-data; boundary=b', accept }, body };
}

test("a form that asks for JSON gets what a PUT gets: 201, the file's path, the headers of the back-end", async (t) => {
  const receipt = { 'x-receipt': 'r-3', location: '/receipts/3', etag: '"theirs"', 'content-type': 'text/plain', 'x-request-id': 'r-id' };
  const receiver = await startReceiver(t, { otherwise: { headers: receipt } });
  const passed = 'X-Receipt, Location, ETag, Content-Type, X-Request-Id, X-Base';
  const server = await startServer(t, {
    service: { ...service, api_passthrough_headers: passed, headers: { 'X-Base': 'ours' } },
    event_handlers: backend(receiver.url),
  });
  mkdirSync(join(server.home, 'd'));
  const valuesOf = ({ rawHeaders }: TestReply, name: string) =>
    rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
  const form = await server.send('POST', '/home/d/', uploadForm('application/json'));
  assert.equal(form.status, 201, form.text);
  assert.deepEqual(form.json(), { results: [{ target: 'ü %41.txt' }] });
  assert.deepEqual(valuesOf(form, 'content-type'), ['application/json; charset=utf-8'], 'the body is described by the service');
  const put = await server.put('/home/d/%C3%BC%20%2541.txt', 'two');
  for (const reply of [form, put]) {
    assert.equal(Buffer.from(String(reply.headers['server-path']), 'latin1').toString(), '/d/ü %41.txt');
    for (const name of ['x-receipt', 'location', 'etag', 'x-request-id'] as const) assert.deepEqual(valuesOf(reply, name), [receipt[name]]);
    assert.deepEqual(valuesOf(reply, 'x-base'), ['ours'], 'headers that the back-end does not send stay');
  }
  const browser = await server.send('POST', '/home/d/', uploadForm('text/html'));
  assert.equal(browser.status, 303);
  assert.deepEqual(valuesOf(browser, 'location'), ['/home/d/'], 'a browser goes back to the folder');
  assert.deepEqual(valuesOf(browser, 'x-receipt'), ['r-3']);
});

test('without a valid reply of the back-end, a form that asks for JSON gets 201 and the configured headers', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 500 } });
  const server = await startServer(t, { service, event_handlers: backend(receiver.url) });
  mkdirSync(join(server.home, 'd'));
  const reply = await server.send('POST', '/home/d/', uploadForm('application/json; charset=utf-8'));
  assert.equal(reply.status, 201, reply.text);
  assert.deepEqual([reply.headers['x-receipt'], reply.headers['x-note']], ['pending', 'later']);
  assert.ok(String(reply.headers['server-path']).startsWith('/d/'));
  assert.ok((await server.eventIds()).includes(40060));
});

test('api_passthrough_headers refuses headers that frame the reply or belong to the service, and accepts all others', async (t) => {
  const hopByHop =
    'Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection TE Trailer Transfer-Encoding Upgrade'.split(' ');
  const refused = [...hopByHop, 'Content-Length', 'Content-Encoding', 'Set-Cookie', 'Date', 'Server', 'Server-Path'];
  const fine = 'Location ETag Content-Type Content-Range Content-Language Content-Security-Policy WWW-Authenticate Vary X-Receipt'.split(
    ' ',
  );
  const folder = temporaryFolder(t);
  const withNames = (names: string[]) =>
    testConfig(folder, { service: { ...service, api_passthrough_headers: names }, event_handlers: backend('http://127.0.0.1:1/') });
  for (const name of refused) {
    await assert.rejects(withNames([name]), /must not be copied from the reply of the back-end/, name);
    await assert.rejects(withNames([name.toLowerCase()]), /must not be copied from the reply of the back-end/, name);
  }
  await withNames(fine);
});

const noReply: { what: string; answer: Answer; options?: Record<string, unknown>; outcome: string }[] = [
  { what: '500', answer: { status: 500, headers: { 'x-receipt': 'no' } }, outcome: 'failed' },
  { what: '404', answer: { status: 404 }, outcome: 'failed' },
  { what: 'a redirect', answer: { status: 302, headers: { location: '/' } }, outcome: 'failed' },
  { what: '503 with Retry-After', answer: { status: 503, headers: { 'retry-after': '9' } }, outcome: 'discarded' },
  { what: 'a reset', answer: { fault: 'reset' }, outcome: 'failed' },
  { what: 'no HTTP', answer: { fault: 'garbage' }, outcome: 'failed' },
  { what: 'silence', answer: { fault: 'hang' }, options: { timeout: 0.4 }, outcome: 'failed' },
  { what: 'half a reply', answer: { fault: 'short' }, outcome: 'failed' },
  { what: 'a body that never comes', answer: { fault: 'header-only' }, options: { timeout: 0.4 }, outcome: 'failed' },
  {
    what: 'an endless body with expected_response',
    answer: { fault: 'endless' },
    options: { expected_response: '*ok*', timeout: 5 },
    outcome: 'failed',
  },
  {
    what: 'another body than expected',
    answer: { body: 'NO', headers: { 'x-receipt': 'no' } },
    options: { expected_response: 'OK' },
    outcome: 'failed',
  },
];

for (const { what, answer, options, outcome } of noReply) {
  test(`without a valid reply of the back-end (${what}), an upload is stored, with 201, configured headers and event 40060`, async (t) => {
    const receiver = await startReceiver(t, { otherwise: answer });
    const server = await startServer(t, { service, event_handlers: backend(receiver.url, options) });
    const reply = await server.put('/home/a.txt', 'hello');
    assert.equal(reply.status, 201);
    assert.equal(reply.headers['server-path'], '/a.txt');
    assert.deepEqual([reply.headers['x-receipt'], reply.headers['x-note']], ['pending', 'later']);
    assert.equal(readFileSync(join(server.home, 'a.txt'), 'utf8'), 'hello');
    const events = await server.events();
    const told = events.find(({ id }) => id === '40060');
    assert.equal(told?.data.handler, 'backend');
    assert.equal(told?.data.details, outcome);
    assert.equal(told?.data.path, '/a.txt');
    assert.ok(events.some(({ id }) => id === '40017'));
    assert.ok(events.some(({ id, data }) => id === '20174' && data.event_id === '40017'));
  });
}

test('while an upload waits, the back-end is retried, also at its further URLs', async (t) => {
  const first = await startReceiver(t, { otherwise: { status: 500 } });
  const second = await startReceiver(t, { otherwise: { headers: { 'x-receipt': 'second' } } });
  const server = await startServer(t, {
    service,
    event_handlers: backend([first.url, second.url], { retry_count: 1, retry_increase: 0.01 }),
  });
  assert.equal((await server.put('/home/a.txt', 'a')).headers['x-receipt'], 'second');
  await first.received(2);
  assert.equal(first.requests.length, 2);
});

test('if the back-end is disabled, or its filters exclude the upload, the reply has the partial-success headers', async (t) => {
  const receiver = await startReceiver(t);
  for (const options of [{ enabled: false }, { usernames: 'bob' }]) {
    const server = await startServer(t, { service, event_handlers: backend(receiver.url, options) });
    assert.equal((await server.put('/home/a.txt', 'a')).headers['x-receipt'], 'pending');
    assert.equal((await server.events()).filter(({ id }) => id === '40060').length, 1);
  }
  assert.equal(receiver.requests.length, 0);
});

test('if the client disappears while the back-end works, the file is stored, and the delivery is reported as successful', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { delayMs: 300 } });
  const server = await startServer(t, { service, event_handlers: backend(receiver.url, { timeout: 5 }) });
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`PUT /home/a.txt HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: ${testBasic}\r\nContent-Length: 5\r\n\r\nhello`);
  await receiver.received(1);
  socket.destroy();
  await until('event 20189', async () => (await server.eventIds()).includes(20189));
  assert.equal(readFileSync(join(server.home, 'a.txt'), 'utf8'), 'hello');
});

test('fail_after_errors counts deliveries that uploads wait for; untried events are delivered after a reload', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 500 }] });
  const config = { service, event_handlers: backend(receiver.url, { fail_after_errors: 2 }) };
  const server = await startServer(t, config);
  for (const name of ['1', '2', '3']) assert.equal((await server.put(`/home/${name}.txt`, 'x')).headers['x-receipt'], 'pending');
  await receiver.received(2);
  assert.equal(receiver.requests.length, 2, 'a stopped handler is not used');
  assert.ok((await server.eventIds()).includes(20066));
  await server.service.reload(await testConfig(server.folder, { ...config, service: { ...service } }));
  await receiver.received(3);
  assert.deepEqual(
    receiver.events().map((event: ServiceEvent) => event.data.path),
    ['/1.txt', '/2.txt', '/3.txt'],
  );
  await server.put('/home/4.txt', 'x');
  await receiver.received(4);
  assert.equal(receiver.requests.length, 4);
});
