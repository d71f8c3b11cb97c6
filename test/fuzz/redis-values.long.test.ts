import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isServiceError } from '../../src/lib/errors.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { keyTypes, setForeignKeysAside } from '../../src/lib/redis/redis-values.ts';
import { calloutEndpoint } from '../support/callout-endpoint.ts';
import { Client, type TestReply } from '../support/client.ts';
import { asOperator, ConsoleClient, consoleService } from '../support/console.ts';
import { startNode, type TestNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

const garbage = ['garbage', '{"a":', 'null', '[1,2]', '{}', '"text"', '-1e999', '{"atMs":"x","expiresMs":[],"account":7,"permissions":{}}'];

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const finder = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)', 'content-type': 'application/xml', depth: '0' };

/** Sends a command, and repeats it while the link throws `unavailable`. The link does so for two seconds after it noticed a removed key. */
async function call(link: RedisLink, ...command: string[]): Promise<unknown> {
  let reply: unknown;
  await until(`${command[0]} is answered`, async () => {
    try {
      reply = await link.call(command);
      return true;
    } catch (error) {
      if (isServiceError(error, 'unavailable')) return false;
      throw error;
    }
  });
  return reply;
}

function familyOf(key: string): string {
  const [name = '', ...rest] = key.replace(/^\{svc\}:/, '').split(':');
  return name === 'logins' ? `logins:${rest[1]}` : name;
}

/** Returns the reference of an internal error in a line of the log, or else the line. */
function referenceIn(line: string): string {
  return /"reference":"([0-9a-f-]+)"/.exec(line)?.[1] ?? line;
}

/** Puts invalid values into a key, whose Redis type stays the same. */
async function plantValue(link: RedisLink, key: string, bad: string): Promise<void> {
  switch (await call(link, 'TYPE', key)) {
    case 'string':
      await call(link, 'SET', key, bad);
      break;
    case 'hash':
      for (const field of [...((await call(link, 'HKEYS', key)) as string[]), 'ghost']) await call(link, 'HSET', key, field, bad);
      break;
    case 'zset':
      await call(link, 'ZADD', key, '1', bad, '9e15', `far ${bad}`);
      break;
    case 'set':
      await call(link, 'SADD', key, bad);
      break;
    case 'list':
      await call(link, 'RPUSH', key, bad);
      break;
    case 'stream':
      for (const field of ['event', 'record', 'number']) await call(link, 'XADD', key, '*', field, bad);
      break;
  }
}

/** Replaces a key by one of another Redis type. One script does so, because svc can write the key again at any time. */
async function plantType(link: RedisLink, key: string): Promise<void> {
  const isText = (await call(link, 'TYPE', key)) === 'string';
  const write = isText ? "redis.call('HSET', KEYS[1], 'a', 'b')" : "redis.call('SET', KEYS[1], 'garbage')";
  await call(link, 'EVAL', `redis.call('DEL', KEYS[1]) ${write}`, '1', key);
}

test('an unreadable value in Redis, or a key of a wrong type, prevents no reply, page, figure or delivery', {
  timeout: 600_000,
}, async (t) => {
  const receiver = await startReceiver(t);
  const endpoint = await calloutEndpoint(t, (response, { credentials }) =>
    response.writeHead(credentials.username === 'bob' ? 204 : 401).end(),
  );
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const config = {
    server: {
      security_policy: { ban_after_failures: 1000 },
      state: { type: 'redis', url: redis.url, secret: 'marker-of-a-secret-that-redis-does-not-know' },
    },
    services: {
      web: { type: 'http', port: 0, webdav_compatibility: true },
      console: await consoleService(),
      eyes: { type: 'monitor', port: 0 },
    },
    authentications: { own: { type: 'application' }, callout: { type: 'http', url: endpoint.url, cache_seconds: 600 } },
    event_handlers: {
      crm: { type: 'http', target: '40017', url: receiver.url },
      rest: { type: 'http', target: '40017', url: receiver.url },
    },
  };
  const nodes = [await startNode(t, folder, 'n0', redis.url, config), await startNode(t, folder, 'n1', redis.url, config)];
  const link = await linkTo(t, redis.url, { settleMs: 2000 });
  const at = ({ service }: TestNode, uuid: string) => service.listening().find((one) => one.uuid === uuid)?.url ?? '';
  const consoles = nodes.map((node) => new ConsoleClient(at(node, 'console')));
  const monitors = nodes.map((node) => new Client(at(node, 'eyes')));
  let step = 0;
  let filled = 0;
  let context = 'at the start';

  // After the nodes notice that Redis lost data, they reply with 503 for a short time.
  const answered = async (ask: () => Promise<TestReply>, ...statuses: number[]): Promise<TestReply> => {
    let reply: TestReply | undefined;
    await until(`${context}: a reply other than 503`, async () => {
      reply = await ask();
      return reply.status !== 503;
    });
    const { status, text } = reply as TestReply;
    assert.ok(statuses.includes(status), `${context}: ${status} ${text.slice(0, 200)}`);
    return reply as TestReply;
  };
  const drive = async () => {
    for (const [index, node] of nodes.entries()) {
      const path = `/home/${step}-${index}`;
      await answered(() => node.get('/home/', { headers: { accept: 'application/json' } }), 200);
      await answered(() => node.get('/home/', { user: 'bob:any-pass', headers: { accept: 'application/json' } }), 200);
      await answered(() => node.get('/home/', { user: null, headers: { authorization: `session ${'x'.repeat(43)}` } }), 401);
      const lock = await answered(() => node.send('LOCK', `${path}-locked`, { headers: finder, body: lockBody }), 200, 201);
      const token = String(lock.headers['lock-token']);
      await answered(() => node.put(`${path}-locked`, 'x'), 423);
      await answered(() => node.send('UNLOCK', `${path}-locked`, { headers: { ...finder, 'lock-token': token } }), 204);
      const begunUpload = await answered(() => node.put(`${path}-upload`, 'abc', { headers: { 'upload-complete': '?0' } }), 201);
      await answered(() => node.send('HEAD', String(begunUpload.headers.location)), 204);
      await answered(() => node.put(path, 'x'), 201);
      await answered(() => node.send('DELETE', `${path}-locked`), 204, 404);
      const console = consoles[index] as ConsoleClient;
      for (const page of ['overview', 'handlers', 'deliveries', 'events', 'sessions', 'locks', 'bans', 'uploads', 'replays', 'samples'])
        await answered(() => console.get(`/api/${page}`, asOperator), 200);
      const { text } = await answered(() => (monitors[index] as Client).get('/metrics', { user: null }), 200);
      assert.ok(!/ NaN$/m.test(text), `${context}: ${/.*NaN$/m.exec(text)?.[0]}`);
    }
    const wanted = nodes.map((_, index) => `/${step}-${index}`);
    await until(`${context}: the events are delivered`, () => {
      const paths = new Set(receiver.events().map(({ data }) => data.path));
      return wanted.every((path) => paths.has(path));
    });
    step++;
  };
  /**
   * Creates keys that the requests of `drive` do not always leave behind: a failed login, a session, a lock, a ban,
   * a loss of the journal, a replay, and the request to pause a handler.
   */
  const fill = async () => {
    const node = nodes[step % 2] as TestNode;
    await answered(() => node.get('/home/', { user: 'alice:wrong' }), 401);
    const login = () =>
      node.send('POST', '/__svc__/login', {
        user: null,
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
        body: 'username=bob&password=any-pass',
      });
    await answered(login, 200, 201);
    await answered(() => node.send('LOCK', `/home/kept-${filled++}`, { headers: finder, body: lockBody }), 200, 201);
    await call(link, 'SET', '{svc}:ban:192.0.2.7', '1', 'PX', '600000');
    await call(link, 'ZADD', '{svc}:failed:127.0.0.1', String(Date.now() + 60_000), 'a:b');
    await call(link, 'HSET', '{svc}:journal-lost', 'x', JSON.stringify({ at: '2026-01-01', host: 'h', data_folder: '/x' }));
    await call(link, 'XADD', '{svc}:replays', '*', 'record', '{}');
    await answered(
      () =>
        (consoles[0] as ConsoleClient).post('/api/handlers/rest/pause', {}, { ...asOperator, headers: { origin: consoles[0]?.url ?? '' } }),
      200,
      204,
    );
  };
  await drive();
  await fill();
  await until(
    'the node that runs the handlers has stored their states',
    async () => (await call(link, 'EXISTS', '{svc}:handler-states')) === 1,
  );
  const unknown = ((await call(link, 'KEYS', '{svc}:*')) as string[]).filter((key) => !keyTypes.some(([name]) => name.test(key.slice(6))));
  assert.deepEqual(unknown, [], 'the types of all keys are known');
  assert.equal(
    await setForeignKeysAside('{svc}:', (command) => link.call(command), link.values),
    false,
    'svc has created each key with the type in `keyTypes`',
  );
  const families = new Set(((await call(link, 'KEYS', '{svc}:*')) as string[]).map(familyOf));
  const failures: string[] = [];
  for (const family of [...families].sort()) {
    for (const kind of ['value', 'type'] as const) {
      await fill();
      const keys = ((await call(link, 'KEYS', '{svc}:*')) as string[]).filter((key) => familyOf(key) === family);
      const bad = garbage[step % garbage.length] as string;
      context = `${family}: ${kind === 'value' ? bad : 'another type'}`;
      for (const key of keys) await (kind === 'value' ? plantValue(link, key, bad) : plantType(link, key));
      await drive().catch((error) => failures.push(`${context}: ${(error as Error).message.slice(0, 300)}`));
    }
  }
  const causes = nodes.flatMap(({ log }) => log.filter((line) => failures.some((failure) => failure.includes(referenceIn(line)))));
  assert.deepEqual(failures, [], causes.join(''));
  for (const monitor of monitors) {
    const { text } = await monitor.get('/metrics', { user: null });
    assert.ok(Number(/^svc_redis_unreadable_values (\d+)/m.exec(text)?.[1]) > 0, 'unreadable values are counted');
  }
});
