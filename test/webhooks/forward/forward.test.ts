import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startReceiver, until } from '../../support/receiver.ts';
import { testUser } from '../../support/secrets.ts';
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
  until(`${count} of ${id}`, async () => (await told(server, id)).length >= count);

test('files are sent by PUT in their order, with digests and encoded paths; 20202 tells it, and 20189 does not come', async (t) => {
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
  assert.ok(existsSync(join(server.home, 'two')), 'it stays');
});

test('what was sent is deleted or moved with its event, into folders that are made, and a name that is taken gets a number', async (t) => {
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
    await until('it is moved', () => !existsSync(join(server.home, 'a')));
  }
  await untilTold(server, 40055, 2);
  assert.deepEqual(
    (await told(server, 40055)).map(({ destination }) => destination),
    ['/sent/alice/a', '/sent/alice/a (2)'],
  );
  assert.equal(readFileSync(join(server.home, 'sent/alice/a'), 'utf8'), 'first');
  assert.equal(receiver.requests.length, 3, 'what was moved is no new file');
});

test('a file that is gone, has another size, or cannot be named at the target is told and not sent; the handler goes on', async (t) => {
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

test('a link that leads out of the account is gone, and so is a file in the folder of the service', async (t) => {
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

test('failures are tried again, also those that ask for time by 503; a reply with another digest is one', async (t) => {
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

test('outside of its window nothing is sent; a file replaced after it was sent is not deleted', async (t) => {
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
  await until('the newer one is deleted', () => !existsSync(join(server.home, 'b')));
  assert.deepEqual(
    receiver.requests.map(({ url, body }) => `${url} ${body}`),
    ['/b old', '/b newer'],
  );
  assert.match(String((await told(server, 40013))[0]?.details), /changed or replaced/);
  assert.deepEqual(await told(closed, 20202), []);
});

test('a file that shrinks or changes while it is sent is told; the target gets no whole body', async (t) => {
  const target = await startServer(t);
  const [username, password] = testUser.split(':');
  const server = await startServer(t, forwarding({ url: `${target.url}/home/{path}`, username, password }));
  const large = Buffer.alloc(24 * 1024 * 1024, 'x');
  const { fileHash } = { fileHash: sha256(large) };
  await server.put('/home/whole', large);
  await untilTold(server, 20202);
  assert.equal(sha256(readFileSync(join(target.home, 'whole'))), fileHash);
});
