import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { asOperator, asViewer, ConsoleClient, consoleService } from '../support/console.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { HeldClients, type Shown } from '../support/transfers.ts';
import { startFleet } from '../support/workers.ts';

test('a console with workers shows the transfers of all, and a handler that is paused gets nothing of any', async (t) => {
  const receiver = await startReceiver(t);
  const services = { web: { type: 'http', port: 0 }, console: await consoleService() };
  const event_handlers = { crm: { type: 'http', target: '40017', url: receiver.url } };
  const fleet = await startFleet(t, 2, { services, event_handlers });
  const console = new ConsoleClient((await fleet.running.line(/console listening on (http:\S+)\/\n/))[1] ?? '');
  const overview = async () =>
    (await console.get('/api/overview', asViewer)).json<{ transfers: Shown[]; handlers: { state: string; waiting_events: number }[] }>();
  const clients = new HeldClients(t, fleet.port);
  const uploads: Socket[] = [];
  const processes = async () => new Set((await overview()).transfers.map(({ id }) => id.split('-')[0]));
  while ((await processes()).size < 2) {
    assert.ok(uploads.length < 100, 'one worker has all connections');
    const upload = await clients.send('PUT', `/home/${uploads.length}`, { 'content-length': 2000 });
    upload.write(Buffer.alloc(1000));
    uploads.push(upload);
    await until('it is shown', async () => (await overview()).transfers.length === uploads.length);
  }
  assert.equal(new Set((await overview()).transfers.map(({ path }) => path)).size, uploads.length);

  assert.equal((await console.post('/api/handlers/crm/pause', {}, asOperator)).status, 204);
  for (const upload of uploads) upload.write(Buffer.alloc(1000));
  await until('all are done', async () => (await overview()).transfers.length === 0);
  await fleet.kill(fleet.workers());
  await fleet.ready(2);
  await fleet.put('/home/later', 'x');
  const [handler] = (await overview()).handlers;
  assert.equal(handler?.state, 'paused', 'workers come and go');
  assert.ok((handler?.waiting_events ?? 0) > uploads.length);
  assert.equal(receiver.requests.length, 0);
  assert.equal((await console.post('/api/handlers/crm/resume', {}, asOperator)).status, 204);
  await receiver.received(uploads.length + 1);
  const sent = receiver.events().map(({ data }) => data.path);
  assert.equal(new Set(sent).size, uploads.length + 1, 'each once');
  assert.equal(sent.at(-1), '/later');
  assert.equal(await fleet.stop(), 0);
});

test('what of a method fails in the workers is told by the console of their primary process, until that is mended', async (t) => {
  let status = 401;
  const endpoint = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  t.after(() => endpoint.close());
  await once(endpoint, 'listening');
  const fleet = await startFleet(t, 2, {
    services: { web: { type: 'http', port: 0, authentications: ['good'] }, console: await consoleService() },
    authentications: {
      good: { type: 'http', url: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/` },
      dead: { type: 'http', url: 'http://127.0.0.1:9/' },
    },
  });
  const console = new ConsoleClient((await fleet.running.line(/console listening on (http:\S+)\/\n/))[1] ?? '');
  const reasonOf = async (wanted: string) => {
    const { methods } = (await console.get('/api/overview', asViewer)).json<{
      methods: { uuid: string; state: string; reason: string }[];
    }>();
    const [method, ...others] = methods.filter(({ uuid }) => uuid === wanted);
    assert.deepEqual(others, [], 'one for all processes');
    return `${method?.state}: ${method?.reason}`;
  };
  assert.match(await reasonOf('dead'), /^failed: The test at the start failed: the connection was refused/);
  assert.equal(await reasonOf('good'), 'running: ');
  status = 500;
  const login = () => fleet.get('/home/', { user: 'bob:wrong-Word-1', mayFail: true });
  await login();
  await until('the fault of one worker is told', async () => /^running: .*500/.test(await reasonOf('good')));
  status = 401;
  await fleet.everywhere(2, login);
  await until('it works again', async () => (await reasonOf('good')) === 'running: ');
});
