import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { asOperator, startConsole } from '../../support/console.ts';
import { startReceiver, until } from '../../support/receiver.ts';
import { startServer, type TestConfig, type TestServer } from '../../support/server.ts';

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

const rootOf = ({ url }: { url: string }) => new URL('/', url).href;

const forwarding = (options: Record<string, unknown>, config: TestConfig = {}): TestConfig => ({
  ...config,
  event_handlers: { out: { type: 'forward', ...options } },
});

const told = async (server: TestServer, id: number) =>
  (await server.events()).filter((event) => event.id === String(id)).map(({ data }) => data);
const untilTold = (server: TestServer, id: number, count = 1) =>
  until(`${count} events ${id}`, async () => (await told(server, id)).length >= count);

test('files are sent by PUT in order, with digests and encoded paths; event 20202 reports each, instead of 20189', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { status: 201 } });
  const server = await startServer(t, forwarding({ url: `${rootOf(receiver)}in/{account.name}/{path}` }));
  mkdirSync(join(server.home, 'a b'));
  await server.put('/home/a%20b/%C3%A4%25%3F%23.csv', 'one');
  await server.put('/home/two', 'zwei');
  await server.put('/home/empty', '');
  await receiver.received(3);
  const [first, second, third] = receiver.requests;
  assert.equal(`${first?.method} ${first?.url}`, 'PUT /in/alice/a%20b/%C3%A4%25%3F%23.csv');
  assert.deepEqual([second?.url, third?.url], ['/in/alice/two', '/in/alice/empty']);
  assert.deepEqual([first?.body.toString(), third?.body.length], ['one', 0]);
  assert.equal(first?.headers['repr-digest'], `sha-256=:${createHash('sha256').update('one').digest('base64')}:`);
  assert.equal(first?.headers['content-type'], 'text/csv; charset=utf-8');
  await untilTold(server, 20202, 3);
  const [data] = await told(server, 20202);
  assert.equal(data?.path, '/a b/ä%?#.csv');
  assert.deepEqual([data?.size, data?.digest, data?.uuid], [3, sha256('one'), 'out']);
  assert.match(String(data?.url), /\/in\/alice\/a%20b\//);
  assert.ok(!(await server.eventIds()).includes(20189));
  assert.ok(existsSync(join(server.home, 'two')), 'the sent file stays');
});

test('a file that was sent is deleted or moved, with an event; folders are created, and a taken name gets a number', async (t) => {
  const receiver = await startReceiver(t);
  const gone = await startServer(t, forwarding({ url: `${rootOf(receiver)}{path}`, after: 'delete' }));
  await gone.put('/home/a', 'x');
  await untilTold(gone, 40012);
  assert.ok(!existsSync(join(gone.home, 'a')));
  const group = { permissions: ['allow-create-file'] };
  const server = await startServer(
    t,
    forwarding({ url: `${rootOf(receiver)}{path}`, after: 'move:/sent/{account.name}/{path}' }, { group }),
  );
  for (const content of ['first', 'second']) {
    await server.put('/home/a', content);
    await until('the file is moved', () => !existsSync(join(server.home, 'a')));
  }
  await untilTold(server, 40055, 2);
  assert.deepEqual(
    (await told(server, 40055)).map(({ destination }) => destination),
    ['/sent/alice/a', '/sent/alice/a (2)'],
  );
  assert.equal(readFileSync(join(server.home, 'sent/alice/a'), 'utf8'), 'first');
  await receiver.received(3);
  assert.equal(receiver.requests.length, 3, 'a moved file is not sent as a new one');
});

test('a file that is missing, has another size or an unusable name is reported and not sent; the handler continues', async (t) => {
  const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
  const options = { url: `${rootOf(receiver)}{data.metadata.customer.0}/{path}`, fail_after_errors: 1, retry_count: 3 };
  const server = await startServer(t, forwarding(options, { service: { metadata_fields: 'x-meta' } }));
  const put = (name: string, customer: string) => server.put(`/home/${name}`, 'x', { headers: { 'x-meta': `"customer=${customer}"` } });
  await put('held', 'acme');
  await receiver.received(1);
  await put('gone', 'acme');
  await put('longer', 'acme');
  rmSync(join(server.home, 'gone'));
  writeFileSync(join(server.home, 'longer'), 'xy');
  for (const customer of ['..', '../../etc', '%2e%2e/x', 'a\\b', '.', '']) await put('attack', customer);
  await put('back%5Cslash', 'acme');
  await put('last', '%2e%2e');
  receiver.release();
  await receiver.received(2);
  await untilTold(server, 20202, 2);
  assert.deepEqual(
    receiver.requests.map(({ url }) => url),
    ['/acme/held', '/%252e%252e/last'],
  );
  const failed = await told(server, 20174);
  assert.equal(failed.length, 9);
  assert.match(String(failed[0]?.details), /not sent: the file is gone/);
  assert.match(String(failed[1]?.details), /has 2 bytes, not the 1 that were uploaded/);
  assert.ok(
    failed.slice(2).every(({ details }) => /not sent: /.test(String(details))),
    JSON.stringify(failed),
  );
});

test('a file that was replaced by a symbolic link out of the account is not sent', async (t) => {
  const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
  const server = await startServer(t, forwarding({ url: `${rootOf(receiver)}{path}` }));
  await server.put('/home/held', 'x');
  await receiver.received(1);
  await server.put('/home/link', 'x');
  rmSync(join(server.home, 'link'));
  symlinkSync('/etc/hostname', join(server.home, 'link'));
  receiver.release();
  await untilTold(server, 20174);
  assert.equal(receiver.requests.length, 1);
});

test('failures are retried, including a 503 with Retry-After; a reply with another digest is a failure, too', async (t) => {
  const script = [
    { status: 500 },
    { status: 503, headers: { 'retry-after': '0' } },
    { status: 201, headers: { 'repr-digest': 'sha-256=:AAAA:' } },
    { fault: 'reset' as const },
  ];
  const receiver = await startReceiver(t, { script });
  const server = await startServer(t, forwarding({ url: `${rootOf(receiver)}{path}`, retry_count: 3, after: 'delete' }));
  await server.put('/home/a', 'x');
  await untilTold(server, 20202);
  assert.equal(receiver.requests.length >= 4, true);
  assert.ok(receiver.requests.every(({ body }) => body.toString() === 'x'));
  assert.deepEqual(await told(server, 20174), []);
});

test('outside the window nothing is sent; if a file is replaced while it is sent, the new file is also sent, then deleted', async (t) => {
  const receiver = await startReceiver(t, { script: [{ isHeld: true }] });
  const hour = new Date().getUTCHours();
  const text = (hours: number) => `${String((hours + 24) % 24).padStart(2, '0')}:30`;
  const closed = await startServer(t, forwarding({ url: `${rootOf(receiver)}{path}`, window: `${text(hour + 8)}-${text(hour + 10)}` }));
  await closed.put('/home/a', 'x');
  const open = { url: `${rootOf(receiver)}{path}`, after: 'delete', window: `${text(hour - 3)}-${text(hour + 3)}`, time_zone: 'Etc/UTC' };
  const server = await startServer(t, forwarding(open));
  await server.put('/home/b', 'old');
  await receiver.received(1);
  await server.put('/home/b', 'newer');
  receiver.release();
  await receiver.received(2);
  await until('the newer file is deleted', () => !existsSync(join(server.home, 'b')));
  assert.deepEqual(
    receiver.requests.map(({ url, body }) => `${url} ${body}`),
    ['/b old', '/b newer'],
  );
  assert.match(String((await told(server, 40013))[0]?.details), /changed or replaced/);
  assert.deepEqual(await told(closed, 20202), []);
});

/** Starts a target that acts on the first bytes of a body, and records the bodies that arrived whole. */
async function startTarget(t: TestContext, onFirst: (name: string) => void) {
  const whole = new Map<string, string>();
  const begun: string[] = [];
  const target = createServer(async (request, response) => {
    const hash = createHash('sha256');
    try {
      for await (const chunk of request) {
        if (!begun.includes(String(request.url))) {
          begun.push(String(request.url));
          onFirst(String(request.url));
        }
        hash.update(chunk as Buffer);
      }
    } catch {
      return;
    }
    whole.set(String(request.url), hash.digest('hex'));
    response.writeHead(201).end();
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  t.after(() => target.close());
  return { url: `http://127.0.0.1:${(target.address() as AddressInfo).port}/`, whole, begun };
}

test('a file that changes while it is sent is reported; the target gets no complete body, and the next file follows', async (t) => {
  let home = '';
  const target = await startTarget(t, (name) => {
    if (name === '/shrinks') truncateSync(join(home, 'shrinks'), 1000);
    if (name !== '/changes') return;
    const fd = openSync(join(home, 'changes'), 'r+');
    writeSync(fd, 'y', 24 * 1024 * 1024 - 1);
    closeSync(fd);
  });
  const server = await startServer(t, forwarding({ url: `${target.url}{path}`, after: 'delete', fail_after_errors: 1, retry_count: 2 }));
  home = server.home;
  const large = Buffer.alloc(24 * 1024 * 1024, 'x');
  for (const name of ['shrinks', 'changes', 'whole']) await server.put(`/home/${name}`, large);
  await untilTold(server, 20202);
  assert.deepEqual([...target.whole], [['/whole', sha256(large)]]);
  assert.deepEqual(target.begun, ['/shrinks', '/changes', '/whole'], 'each file was begun once');
  const details = (await told(server, 20174)).map((data) => String(data.details));
  assert.equal(details.length, 2);
  assert.match(details[0] ?? '', /not sent: it became shorter while it was sent/);
  assert.match(details[1] ?? '', /not sent: it changed while it was sent/);
  await until('the file that was sent whole is deleted', () => !existsSync(join(home, 'whole')));
  assert.ok(existsSync(join(home, 'shrinks')) && existsSync(join(home, 'changes')), 'unsent files stay');
});

test('a replay sends files from their new place, and reports a missing file; records have path, size and digest', async (t) => {
  const receiver = await startReceiver(t);
  const { server, console } = await startConsole(t, forwarding({ url: `${rootOf(receiver)}{path}`, after: 'move:/sent/{path}' }));
  await server.put('/home/a', 'one');
  await server.put('/home/b', 'two');
  await untilTold(server, 40055, 2);
  rmSync(join(server.home, 'sent/b'));
  const begun = await console.post('/api/replays', { filter: { id: ['40017'] }, handlers: ['out'] }, asOperator);
  const path = `/api/replays/${begun.json<{ id: string }>().id}`;
  const replay = async () => (await console.get(path, asOperator)).json<{ state: string; delivered: number; failed: number }>();
  await until('the replay has ended', async () => ['done', 'failed'].includes((await replay()).state));
  const { delivered, failed } = await replay();
  assert.deepEqual([delivered, failed], [1, 1]);
  assert.deepEqual(
    receiver.requests.map(({ url, body }) => `${url} ${body}`),
    ['/a one', '/b two', '/a one'],
  );
  assert.equal(readFileSync(join(server.home, 'sent/a'), 'utf8'), 'one', 'a replayed file is not moved again');
  interface Shown {
    file?: unknown;
    details: string;
  }
  const { deliveries } = (await console.get('/api/deliveries?handler=out', asOperator)).json<{ deliveries: Shown[] }>();
  assert.deepEqual(
    deliveries.map(({ file }) => file).filter((file) => file !== undefined),
    ['a', 'b', 'a'].map((name) => ({ path: `/${name}`, size: 3, digest: sha256(name === 'a' ? 'one' : 'two') })).reverse(),
  );
  assert.match(deliveries.map(({ details }) => details).join(), /the file is gone/);
});

test('rate limits the files per second; a file name cannot change the host of the URL', async (t) => {
  const receiver = await startReceiver(t);
  const rate = { requests: 1, seconds: 1 };
  const server = await startServer(t, forwarding({ url: `${rootOf(receiver)}in/{path}`, rate }));
  for (const name of ['@127.0.0.1:1', 'http:%2F%2Fevil.example', '%23x', '%3Fx=y'])
    assert.ok([201, 400, 404].includes((await server.put(`/home/${name.replaceAll('%2F', '%5C')}`, name)).status), name);
  // Three of the four files arrive. The name with backslashes is not allowed at a target.
  await receiver.received(3);
  for (const { url, headers } of receiver.requests) {
    assert.match(url, /^\/in\/[^/?#\r\n]*$/);
    assert.equal(headers.host, new URL(receiver.url).host);
  }
  const [first, , third] = receiver.requests.map(({ atMs }) => atMs);
  assert.ok(Number(third) - Number(first) >= 900, 'after the first file, one file is sent per second');
});
