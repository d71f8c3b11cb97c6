import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { NodeReload } from '../../src/console/api/schemas/configuration.ts';
import type { HandlerView, Overview } from '../../src/console/api/schemas/overview.ts';
import type { ReplayView } from '../../src/console/api/schemas/replays.ts';
import { within } from '../support/client.ts';
import { asOperator, asViewer, ConsoleClient, consoleService } from '../support/console.ts';
import { configPath, startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { testSections } from '../support/server.ts';
import { HeldClients } from '../support/transfers.ts';

function consoleOf({ service }: TestNode): ConsoleClient {
  return new ConsoleClient(service.listening().find(({ uuid }) => uuid === 'console')?.url ?? '');
}

test('the console of each node shows all nodes and acts on all; while Redis is absent, it shows only its own node', {
  timeout: 90_000,
}, async (t) => {
  const receiver = await startReceiver(t, { script: [{}], otherwise: { isHeld: true } });
  const web = { type: 'http', port: 0, client_forwarded_header: 'X-Forwarded-For' };
  const config = {
    services: { web, console: await consoleService() },
    server: { security_policy: { ban_after_failures: 3, ban_seconds: 600 } },
    event_handlers: { crm: { type: 'http', name: 'CRM', target: '40017', url: receiver.url } },
  };
  const begun = await startNodesOnRedis(t, 3, config);
  if (!begun) return;
  const { redis, folder, nodes } = begun;
  const [here, there] = nodes as [TestNode, TestNode];
  const consoles = nodes.map(consoleOf) as [ConsoleClient, ConsoleClient, ConsoleClient];
  const contract = await consoles[0].contract();
  const names = ['n0', 'n1', 'n2'];
  for (const console of consoles)
    await until('the node of the console has reached Redis', async () => (await console.get('/api/me', asViewer)).status === 200);
  // Sessions of administrators are not in Redis, and a request with such a session does not look up bans. So these sessions work while
  // Redis is absent.
  const sessions = await Promise.all(consoles.map(async (console) => ({ headers: await console.session() })));
  const overview = async (index: number) => {
    const reply = await (consoles[index] as ConsoleClient).get('/api/overview', sessions[index]);
    contract.check('GET', '/api/overview', reply);
    return reply.json<Overview>();
  };
  const nodesOf = ({ nodes: shown }: Overview) => shown.map(({ node, phase }) => `${node} ${phase}`).sort();

  await there.get('/home/', { user: 'alice:wrong' });
  for (const index of [0, 1, 2])
    await until('all nodes are shown', async () => {
      const shown = await overview(index);
      return nodesOf(shown).join() === names.map((name) => `${name} ready`).join() && shown.errors.some(({ node }) => node === 'n1');
    });
  const seen = await overview(2);
  assert.deepEqual([seen.server.node, seen.nodes[0]?.node, seen.incomplete], ['n2', 'n2', '']);
  assert.deepEqual(
    seen.services.map(({ uuid, node }) => `${uuid} ${node}`).sort(),
    ['console', 'web'].flatMap((service) => names.map((node) => `${service} ${node}`)),
  );
  assert.deepEqual(new Set(seen.services.map(({ url }) => url)).size, 6, 'each service has its own URL');
  assert.deepEqual(seen.methods.map(({ node }) => node).sort(), names);
  await until('a node runs the handler', async () => names.includes((await overview(0)).handlers[0]?.node ?? ''));
  const owners = await Promise.all([0, 1, 2].map(async (index) => (await overview(index)).handlers[0]?.node));
  assert.equal(new Set(owners).size, 1, 'all consoles show the same node');

  const upload = await new HeldClients(t, there.port).send('PUT', '/home/slow.bin', { 'content-length': 2 });
  const transfers = async () => (await overview(0)).transfers.map(({ node, path }) => `${node} ${path}`);
  await until('the upload at n1 is shown', async () => (await transfers()).join() === 'n1 /slow.bin');
  upload.destroy();

  // Sessions, bans and unfinished uploads of all nodes.
  const session = await here.login();
  const [listed] = (await consoles[2].get('/api/sessions', asViewer)).json<{ items: { id: string }[] }>().items;
  assert.deepEqual((await consoles[1].send('DELETE', `/api/sessions?id=${listed?.id}`, asOperator)).json(), { removed: 1 });
  for (const node of nodes) assert.equal((await node.get('/home/', within(session))).status, 401);
  const banned = { headers: { 'x-forwarded-for': '192.0.2.9' } };
  for (const node of nodes) await node.get('/home/', { ...banned, user: 'alice:wrong again' });
  assert.equal((await here.get('/home/', banned)).status, 429);
  assert.deepEqual((await consoles[1].send('DELETE', '/api/bans?address=192.0.2.9', asOperator)).json(), { removed: 1 });
  for (const node of nodes) assert.equal((await node.get('/home/', banned)).status, 200);
  await here.put('/home/half.bin', 'half', { headers: { 'upload-complete': '?0', 'upload-draft-interop-version': '6' } });
  const uploads = async () => (await consoles[2].get('/api/uploads', asViewer)).json<{ items: { path: string }[] }>().items;
  assert.deepEqual(
    (await uploads()).map(({ path }) => path),
    ['/half.bin'],
  );
  assert.deepEqual((await consoles[1].send('DELETE', '/api/uploads?account=alice', asOperator)).json(), { removed: 1 });
  assert.deepEqual(await uploads(), []);

  // The node that was asked makes the replay; every node can show and end it.
  await there.put('/home/sent.txt', 'x');
  await receiver.received(1);
  const ask = async (index: number, path: string) => {
    const reply = await (consoles[index] as ConsoleClient).get(`/api/replays${path}`, asViewer);
    contract.check('GET', path.replace(/^\/[^/]+/, '/{id}').replace(/^/, '/api/replays'), reply);
    return reply;
  };
  const begin = async (index: number, body: object) =>
    (await (consoles[index] as ConsoleClient).post('/api/replays', { filter: { id: ['40017'] }, ...body }, asOperator)).json<{
      id: string;
    }>().id;
  const dry = await begin(1, { dry_run: true });
  assert.equal((await ask(2, `/${dry}`)).json<ReplayView>().node, 'n1', 'another node shows the replay immediately');
  await until('the dry run is done', async () => (await ask(2, `/${dry}`)).json<ReplayView>().state === 'done');
  const [own, others] = [await ask(1, `/${dry}/results`), await ask(0, `/${dry}/results`)];
  assert.match(own.text, /sent\.txt/);
  assert.equal(others.text, own.text);
  const held = await begin(1, {});
  await until('the replay is running', async () => (await ask(0, `/${held}`)).json<ReplayView>().state === 'running');
  contract.check('DELETE', '/api/replays/{id}', await consoles[2].send('DELETE', `/api/replays/${held}`, asOperator));
  await until('the replay is cancelled', async () => (await ask(0, `/${held}`)).json<ReplayView>().state === 'cancelled');
  const { replays } = (await ask(2, '')).json<{ replays: ReplayView[] }>();
  assert.deepEqual(
    replays.map(({ id, node }) => [id, node]),
    [
      [held, 'n1'],
      [dry, 'n1'],
    ],
  );
  assert.equal((await ask(2, '/unknown')).status, 404);

  // A reload is applied by all nodes, and a node that refuses is named.
  const reload = async () => {
    const reply = await consoles[0].send('POST', '/api/configuration/reload', asOperator);
    contract.check('POST', '/api/configuration/reload', reply);
    return reply.json<{ reloaded: boolean; nodes: NodeReload[] }>();
  };
  for (const name of names) {
    const changed = { ...config, services: { ...config.services, web: { ...web, headers: { 'x-node': name } } } };
    const text = JSON.stringify(await testSections(folder, { ...changed, server: { ...begun.serverOf(name), ...config.server } }));
    writeFileSync(configPath(folder, name), name === 'n2' ? text.replace('"http"', '"gopher"') : text);
  }
  const report = await reload();
  assert.deepEqual(
    report.nodes.map(({ node, reloaded, changes }) => [node, reloaded, changes]),
    [
      ['n0', true, ['services.web.headers']],
      ['n1', true, ['services.web.headers']],
      ['n2', false, []],
    ],
  );
  assert.match(report.nodes[2]?.reason ?? '', /^The configuration has (an error|\d+ errors)/);
  assert.deepEqual(await Promise.all(nodes.map(async (node) => (await node.get('/home/')).headers['x-node'])), ['n0', 'n1', undefined]);

  // Redis stops answering, and then disappears.
  redis.pause();
  await until('the console reports that something is missing', async () => (await overview(0)).incomplete !== '');
  await redis.kill();
  const alone = await overview(0);
  assert.equal((await consoles[0].get('/api/overview', asViewer)).status, 503, 'no password is checked while bans cannot be read');
  assert.match(alone.incomplete, /^Redis .* is away/);
  assert.deepEqual(nodesOf(alone), ['n0 ready']);
  assert.deepEqual([...new Set(alone.services.map(({ node }) => node))], ['n0']);
  const shown = (await consoles[0].get('/api/handlers', sessions[0])).json<{ handlers: HandlerView[]; incomplete: string }>();
  assert.equal(shown.handlers[0]?.state, 'stopped');
  for (const reason of [shown.handlers[0]?.reason ?? '', shown.incomplete]) assert.match(reason, /^Redis .* is away/);
  assert.equal((await consoles[0].get(`/api/replays/${dry}`, sessions[0])).status, 503, 'Redis may have the replay');
  await redis.restart();
  for (const index of [0, 1, 2]) await until('the node has reached Redis again', async () => (await overview(index)).incomplete === '');
  await until('all nodes are shown again', async () => nodesOf(await overview(0)).join() === names.map((name) => `${name} ready`).join());
  await until('handlers continue', async () => (await overview(0)).handlers[0]?.state === 'running');

  assert.equal(await there.stop(), true);
  assert.deepEqual(nodesOf(await overview(0)), ['n0 ready', 'n2 ready'], 'an ended node disappears immediately');
});

test('the console of any node lifts the suspension of a URL that another node uses, and breaks a lock', async (t) => {
  const first = await startReceiver(t, { script: [{ status: 500 }] });
  const second = await startReceiver(t);
  const config = {
    services: { web: { type: 'http', port: 0, webdav_compatibility: true }, console: await consoleService() },
    event_handlers: { crm: { type: 'http', target: '40017', url: [first.url, second.url] } },
  };
  const begun = await startNodesOnRedis(t, 2, config);
  if (!begun) return;
  const { folder, nodes } = begun;
  const consoles = nodes.map(consoleOf) as [ConsoleClient, ConsoleClient];
  const handlers = async (console: ConsoleClient) =>
    (await console.get('/api/handlers', asViewer)).json<{ handlers: HandlerView[] }>().handlers[0] as HandlerView;
  await until('a node runs the handler', async () => ['n0', 'n1'].includes((await handlers(consoles[0])).node));
  const owner = (await handlers(consoles[0])).node === 'n0' ? 0 : 1;
  const [there, other] = [nodes[owner] as TestNode, consoles[1 - owner] as ConsoleClient];
  await there.put('/home/a.txt', 'x');
  await second.received(1);
  await until('the URL is suspended', async () => (await handlers(other)).suspended_urls.length === 1);
  const [suspended] = (await handlers(other)).suspended_urls;
  assert.equal(suspended?.url, first.url);
  assert.equal((await other.post('/api/handlers/crm/lift-suspension', { url: suspended?.url }, asOperator)).status, 204);
  for (const console of consoles) assert.deepEqual((await handlers(console)).suspended_urls, []);
  await there.put('/home/b.txt', 'x');
  await first.received(2);
  assert.equal(second.requests.length, 1, 'the first URL is asked again');

  const body = '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
  assert.equal((await there.send('LOCK', '/home/a.txt', { headers: { 'user-agent': 'WebDAVFS/3.0.0' }, body })).status, 200);
  for (const node of nodes) assert.equal((await node.put('/home/a.txt', 'y')).status, 423);
  const { items } = (await other.get('/api/locks', asViewer)).json<{ items: { id: string; path: string; account: string }[] }>();
  assert.deepEqual(
    items.map(({ path, account }) => [path, account]),
    [[join(folder, 'home/a.txt'), 'alice']],
  );
  assert.deepEqual((await other.send('DELETE', `/api/locks?id=${items[0]?.id}`, asOperator)).json(), { removed: 1 });
  for (const node of nodes) assert.ok((await node.put('/home/a.txt', 'y')).status < 300);
});
