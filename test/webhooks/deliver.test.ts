import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { selfSigned } from '../support/certificates.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, testConfig } from '../support/server.ts';

test('an upload reaches the receiver as specified: JSON, events and server', async (t) => {
  const receiver = await startReceiver(t);
  const server = await startServer(t, { event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url } } });
  assert.equal((await server.put('/home/a.txt', 'hello')).status, 201);
  const [request] = await receiver.received(1);
  assert.ok(request);
  assert.equal(request.method, 'POST');
  assert.equal(request.url, '/hook');
  assert.equal(request.headers['content-type'], 'application/json');
  assert.equal(request.headers['content-length'], String(request.body.length));
  assert.match(request.headers['user-agent'] ?? '', /^svc\//);
  const body = JSON.parse(request.body.toString('utf8')) as { events: ServiceEvent[]; server: Record<string, string> };
  assert.deepEqual(Object.keys(body), ['events', 'server']);
  assert.deepEqual(Object.keys(body.server), ['uuid', 'name']);
  const journalled = (await server.events()).find(({ id }) => id === '40017');
  assert.deepEqual(body.events, [journalled]);
  assert.equal(
    request.body.toString('utf8').includes(JSON.stringify(journalled)),
    true,
    'the body has the event byte for byte as in the journal',
  );
  await until('event 20189', async () => (await server.eventIds()).includes(20189));
  const told = (await server.events()).find(({ id }) => id === '20189');
  assert.equal(told?.data.event_id, '40017');
  assert.equal(told?.data.event_uuid, journalled?.uuid);
  assert.equal(told?.data.uuid, 'crm');
  assert.equal(told?.data.url, receiver.url);
});

const failures: { what: string; answer: Parameters<typeof startReceiver>[1]; details: RegExp; status?: number }[] = [
  { what: 'a 404', answer: { otherwise: { status: 404, reason: 'Nobody here' } }, details: /^404 Nobody here$/, status: 404 },
  { what: 'a 500', answer: { otherwise: { status: 500, body: 'why' } }, details: /^500 Internal Server Error$/, status: 500 },
  { what: 'a 301', answer: { otherwise: { status: 301, headers: { location: 'http://127.0.0.1:1/' } } }, details: /^301/, status: 301 },
  { what: 'a 503 without Retry-After', answer: { otherwise: { status: 503 } }, details: /^503/, status: 503 },
  { what: 'a reset', answer: { otherwise: { fault: 'reset' } }, details: /closed before the reply/ },
  { what: 'a closed connection', answer: { otherwise: { fault: 'close' } }, details: /closed before the reply/ },
  { what: 'no HTTP', answer: { otherwise: { fault: 'garbage' } }, details: /not valid HTTP/ },
  { what: 'a body that is cut short', answer: { otherwise: { fault: 'short' } }, details: /closed before|aborted/ },
  { what: 'silence', answer: { otherwise: { fault: 'hang' } }, details: /within 0.3 s/ },
  { what: 'a body that never comes', answer: { otherwise: { fault: 'header-only' } }, details: /within 0.3 s/ },
];

for (const { what, answer, details, status } of failures) {
  test(`${what} is a failure: reported with status and reason, not retried, and the next event is sent`, async (t) => {
    const receiver = await startReceiver(t, answer);
    const timeout = details.test('within 0.3 s') ? 0.3 : 30;
    const server = await startServer(t, { event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, timeout } } });
    await server.put('/home/a.txt', 'a');
    await server.put('/home/b.txt', 'b');
    await receiver.received(2);
    const failed = async () => (await server.events()).filter(({ id }) => id === '20174');
    await until('two events 20174', async () => (await failed()).length === 2);
    for (const event of await failed()) {
      assert.match(String(event.data.details), details);
      assert.equal(event.data.status, status);
      assert.equal(event.data.event_id, '40017');
      assert.equal(event.data.name, 'crm');
    }
    assert.equal(receiver.requests.length, 2);
    assert.deepEqual(
      receiver.events().map(({ data }) => data.path),
      ['/a.txt', '/b.txt'],
    );
  });
}

test('refused connections, unknown hosts and untrusted TLS are failures', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { key, cert } = selfSigned(t);
  const tls = await startReceiver(t, { tls: { key, cert } });
  const server = await startServer(t, {
    event_handlers: {
      refused: { type: 'http', target: '40017', url: 'http://127.0.0.1:1/' },
      unknown: { type: 'http', target: '40017', url: 'http://nobody.invalid/' },
      untrusted: { type: 'http', target: '40017', url: tls.url },
    },
  });
  await server.put('/home/a.txt', 'a');
  const failed = async () => (await server.events()).filter(({ id }) => id === '20174');
  await until('three events 20174', async () => (await failed()).length === 3);
  const details = Object.fromEntries((await failed()).map(({ data }) => [data.uuid, data.details]));
  assert.match(details.refused, /refused/);
  assert.match(details.unknown, /cannot be resolved/);
  assert.match(details.untrusted, /TLS failed/);
  assert.equal(tls.requests.length, 0);
});

test('a delivery uses TLS with a private authority, Basic credentials and configured headers', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { key, cert, certPath } = selfSigned(t);
  const receiver = await startReceiver(t, { tls: { key, cert } });
  const server = await startServer(t, {
    event_handlers: {
      crm: {
        type: 'http',
        target: '40017',
        url: receiver.url.replace('127.0.0.1', 'localhost'),
        ca_certificates_path: certPath,
        username: 'user',
        password: 'pass:word',
        headers: 'X-Api-Key: k1\nContent-Type: application/vnd.acme+json\nAuthorization: Bearer no\nUser-Agent: acme/1',
      },
    },
  });
  await server.put('/home/a.txt', 'a');
  const [request] = await receiver.received(1);
  assert.equal(request?.headers.authorization, `Basic ${Buffer.from('user:pass:word').toString('base64')}`);
  assert.equal(request?.headers['x-api-key'], 'k1');
  assert.equal(request?.headers['content-type'], 'application/vnd.acme+json');
  assert.equal(request?.headers['user-agent'], 'acme/1');
});

test('503 with Retry-After: the events are discarded immediately; the configured retries and the next URL are not used', async (t) => {
  const busy = await startReceiver(t, { script: [{ status: 503, reason: 'Busy', headers: { 'retry-after': '120' } }] });
  const other = await startReceiver(t);
  const server = await startServer(t, {
    event_handlers: {
      crm: { type: 'http', target: '40017', url: [busy.url, other.url], retry_count: 3, retry_increase: 0.05, fail_after_errors: 1 },
    },
  });
  await server.put('/home/a.txt', 'a');
  await until('event 20174', async () => (await server.eventIds()).includes(20174));
  assert.match(String((await server.events()).find(({ id }) => id === '20174')?.data.details), /^503 Busy$/);
  await server.put('/home/b.txt', 'b');
  await busy.received(2);
  assert.equal(other.requests.length, 0);
  assert.equal((await server.eventIds()).includes(20066), false, 'a busy endpoint does not count as a failure');
});

test('the n-th retry waits n times retry_increase; if a retry succeeds, the delivery is reported as successful', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { fault: 'reset' }, { status: 200 }] });
  const server = await startServer(t, {
    event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, retry_count: 2, retry_increase: 0.2 } },
  });
  await server.put('/home/a.txt', 'a');
  const requests = await receiver.received(3);
  const gaps = requests.slice(1).map(({ atMs }, index) => atMs - (requests[index]?.atMs ?? 0));
  assert.ok((gaps[0] ?? 0) >= 190 && (gaps[0] ?? 0) < 390, `first retry after ${gaps[0]} ms`);
  assert.ok((gaps[1] ?? 0) >= 390, `second retry after ${gaps[1]} ms`);
  await until('event 20189', async () => (await server.eventIds()).includes(20189));
  assert.equal((await server.eventIds()).includes(20174), false);
  assert.equal(new Set(requests.map(({ body }) => body.toString('utf8'))).size, 1, 'each attempt has the same body');
});

test('of several URLs, the first is retried before the next is used; the failing URL is suspended for five minutes', async (t) => {
  const first = await startReceiver(t, { otherwise: { status: 500 } });
  const second = await startReceiver(t);
  const third = await startReceiver(t);
  const url = `${first.url}, ${second.url}, ${third.url}`;
  const server = await startServer(t, {
    event_handlers: { crm: { type: 'http', target: '40017', url, retry_count: 1, retry_increase: 0.01 } },
  });
  await server.put('/home/a.txt', 'a');
  await second.received(1);
  await server.put('/home/b.txt', 'b');
  await second.received(2);
  assert.equal(first.requests.length, 2, 'one attempt and one retry, then no more');
  assert.equal(third.requests.length, 0, 'on success no later URL is called');
  await until('two events 20189', async () => (await server.eventIds()).filter((id) => id === 20189).length === 2);
  const suspended = (await server.events()).filter(({ id }) => id === '40042');
  assert.deepEqual(
    suspended.map(({ data }) => [data.url, data.retry_interval, data.uuid]),
    [[first.url, 300, 'crm']],
  );
});

test('if all URLs are suspended, a delivery fails immediately and is reported, and nothing is sent', async (t) => {
  const first = await startReceiver(t, { otherwise: { status: 500 } });
  const second = await startReceiver(t, { otherwise: { status: 500 } });
  const server = await startServer(t, {
    event_handlers: { crm: { type: 'http', target: '40017', url: [first.url, second.url], fail_after_errors: 0 } },
  });
  for (const name of ['a', 'b', 'c']) await server.put(`/home/${name}.txt`, name);
  const failed = async () => (await server.events()).filter(({ id }) => id === '20174');
  await until('three events 20174', async () => (await failed()).length === 3);
  assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
  assert.deepEqual(
    (await failed()).map(({ data }) => data.details),
    ['500 Internal Server Error', 'all URLs are suspended', 'all URLs are suspended'],
  );
});

const expectations: [expected: string, body: string, isDelivered: boolean][] = [
  ['*<Status>OK</Status>*', '<r>\n<Status>OK</Status>\n</r>', true],
  ['*<Status>OK</Status>*', '<r><Status>NO</Status></r>', false],
  ['e/"status":\\s*"ok"/i', '{"Status": "OK"}', true],
  ['e/"status":\\s*"ok"/', '{"Status": "OK"}', false],
  ['e/a.b/', 'a\nb', false],
  ['e/a\\nb/', 'a\nb', true],
  ['!e/error/i', 'all fine', true],
  ['!e/error/i', 'an ERROR', false],
  ['e/^(a+)+$/', `${'a'.repeat(60_000)}b`, false],
];

for (const [index, [expected, body, isDelivered]] of expectations.entries()) {
  test(`expected_response ${index + 1}: ${expected} on ${JSON.stringify(body.slice(0, 40))}`, async (t) => {
    const receiver = await startReceiver(t, { otherwise: { body } });
    const server = await startServer(t, {
      event_handlers: { crm: { type: 'http', target: '40017', url: receiver.url, expected_response: expected } },
    });
    await server.put('/home/a.txt', 'a');
    const wanted = isDelivered ? 20189 : 20174;
    await until(String(wanted), async () => (await server.eventIds()).some((id) => id === 20189 || id === 20174));
    assert.deepEqual(
      (await server.eventIds()).filter((id) => id === 20189 || id === 20174),
      [wanted],
    );
  });
}

test('for an endless reply, the status decides; with expected_response, the delivery fails; memory stays bounded', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { fault: 'endless' } });
  const server = await startServer(t, {
    event_handlers: {
      plain: { type: 'http', target: '40017', url: receiver.url },
      strict: { type: 'http', target: '40017', url: receiver.url, expected_response: '*ok*' },
    },
  });
  const before = process.memoryUsage().rss;
  await server.put('/home/a.txt', 'a');
  await until('both outcomes', async () => (await server.eventIds()).filter((id) => id === 20189 || id === 20174).length === 2);
  const told = (await server.events()).filter(({ id }) => id === '20189' || id === '20174');
  assert.equal(told.find(({ data }) => data.uuid === 'plain')?.id, '20189');
  assert.match(String(told.find(({ data }) => data.uuid === 'strict')?.data.details), /larger than 1048576 bytes/);
  assert.ok(process.memoryUsage().rss - before < 60 * 2 ** 20);
});

test('fail_after_errors: the handler stops with an event, and a reload restarts it at its position; other handlers continue', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500 }, { status: 200 }, { status: 500 }, { status: 500 }] });
  const healthy = await startReceiver(t);
  const handlers = {
    crm: { type: 'http', target: '40017', url: receiver.url, fail_after_errors: 2 },
    log: { type: 'http', url: healthy.url },
  };
  const server = await startServer(t, { event_handlers: handlers });
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await server.put(`/home/${name}.txt`, name);
  await until('event 20066', async () => (await server.eventIds()).includes(20066));
  const events = await server.events();
  assert.equal(events.find(({ id }) => id === '20066')?.data.failures, 2);
  assert.equal(events.find(({ id }) => id === '20157')?.data.uuid, 'crm');
  await receiver.received(4);
  assert.equal(receiver.requests.length, 4);
  await until('the other handler has all uploads', () =>
    healthy.events().some(({ data }) => data.path === '/f.txt' && data.total_write === 1),
  );
  await until('the other handler gets event 20066', () => healthy.events().some(({ id }) => id === '20066'));
  await server.service.reload(await testConfig(server.folder, { event_handlers: handlers }));
  await receiver.received(6);
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/a.txt', '/b.txt', '/c.txt', '/d.txt', '/e.txt', '/f.txt'],
  );
});

test('if all deliveries fail, two handlers for all events do not cause each other endless events', async (t) => {
  const down = await startReceiver(t, { otherwise: { status: 500 } });
  const server = await startServer(t, {
    event_handlers: {
      one: { type: 'http', url: down.url, fail_after_errors: 0 },
      two: { type: 'http', url: down.url, fail_after_errors: 0 },
    },
  });
  await server.put('/home/a.txt', 'a');
  await until('no more events arrive', async () => {
    const before = (await server.events()).length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before === (await server.events()).length;
  });
  const events = await server.events();
  assert.ok(events.length < 80, `${events.length} events`);
  for (const event of down.events().filter(({ id }) => id === '20174')) {
    assert.notEqual(event.data.event_id, '20174', 'no event about a failed delivery of an event 20174 is delivered');
  }
  const own = down.requests.map(({ body }) => JSON.parse(body.toString('utf8')).events[0] as ServiceEvent);
  assert.ok(own.length > 0);
});

test('of two handlers for all events, each gets events about deliveries of the other, never about its own; the events end', async (t) => {
  const first = await startReceiver(t);
  const second = await startReceiver(t);
  const server = await startServer(t, {
    event_handlers: { one: { type: 'http', url: first.url }, two: { type: 'http', url: second.url } },
  });
  await server.put('/home/a.txt', 'a');
  await until('no more events arrive', async () => {
    const before = (await server.events()).length;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return before === (await server.events()).length;
  });
  const successes = (receiver: typeof first) => receiver.events().filter(({ id }) => id === '20189');
  assert.ok(successes(first).length > 0);
  assert.ok(successes(first).every(({ data }) => data.uuid === 'two'));
  assert.ok(successes(second).every(({ data }) => data.uuid === 'one'));
});
