import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { start } from '../support/child.ts';
import type { TestReply, TestRequest } from '../support/client.ts';
import { asOperator, asReviewer, asViewer, ConsoleClient, consoleService, operatorPassword, startConsole } from '../support/console.ts';
import { startInspector } from '../support/inspector.ts';
import type { Contract } from '../support/openapi-contract.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { type TestServer, writeConfig } from '../support/server.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/temp.ts';

type Named = { id: string };

const credentials = { username: 'olga', password: operatorPassword };
const asJson = { 'content-type': 'application/json' };
const foreign = { origin: 'https://evil.example' };

test('the description is valid OpenAPI 3.0.3; it uses each of its components, and each operation ID is unique', async (t) => {
  const { console } = await startConsole(t);
  const { text } = await console.get('/api/openapi.json');
  const document = JSON.parse(text);
  const result = await new Validator().validate(document);
  assert.equal(result.valid, true, JSON.stringify(result.errors));
  for (const kind of ['responses', 'headers', 'schemas'] as const)
    for (const name of Object.keys(document.components[kind]))
      assert.ok(text.includes(`"#/components/${kind}/${name}"`), `${kind}/${name} is not used`);
  const ids = [...text.matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length);
});

/** Sends a request. Validates the reply, and after a success also the request, against `path` in the document. */
type Exercise = (method: string, path: string, target: string, status: number, options?: TestRequest) => Promise<TestReply>;

function exerciseOf(console: ConsoleClient, contract: Contract): Exercise {
  return async (method, path, target, status, options = asOperator) => {
    const headers = { ...(options.body !== undefined && asJson), ...options.headers };
    const reply = await console.send(method, target, { ...options, headers });
    assert.equal(reply.status, status, `${method} ${target}: ${reply.text.slice(0, 300)}`);
    contract.check(method, path, reply);
    if (status < 300) {
      const body = options.body === undefined ? undefined : JSON.parse(String(options.body));
      contract.checkRequest(method, path, new URLSearchParams(target.split('?')[1]), body);
    }
    return reply;
  };
}

const withBody = (body: unknown, options: TestRequest = asOperator): TestRequest => ({ ...options, body: JSON.stringify(body) });

/** Returns all operations: method, path in the document, and a target that does not exist. */
function operationsOf(contract: Contract) {
  return contract.operations().map(([name, operation]) => {
    const [method = '', path = ''] = name.split(' ');
    return { method: method.toUpperCase(), path, target: path.replace(/\{\w+\}/, 'unknown'), operation };
  });
}

test('every operation and status: live requests and replies conform to the description', async (t) => {
  const receiver = await startReceiver(t, { script: [{ status: 500, body: 'broken' }] });
  const second = await startReceiver(t);
  const slow = await startReceiver(t, { otherwise: { fault: 'hang' } });
  const { server, console } = await startConsole(t, {
    authentications: { local: { type: 'application' }, remote: { type: 'http', url: slow.url, test_at_start: false } },
    event_handlers: {
      crm: { type: 'http', target: '40017', url: [receiver.url, second.url] },
      slow: { type: 'http', target: '40069', url: slow.url },
    },
    inspections: { check: { type: 'http', url: (await startInspector(t)).url } },
    group: { inspections: [[], ['/held-*', 'check']] },
    // A file of each expectation was due once in the last day. The uploads of this test meet `met`.
    expectations: {
      met: { path: '/*', every: '1d', opens: '2d', grace: '1d' },
      missing: { path: '/never', every: '1d' },
    },
  });
  const contract = await console.contract();
  const send = exerciseOf(console, contract);
  await send('GET', '/api/openapi.json', '/api/openapi.json', 200, {});
  await refusals(t, contract, send);
  await logins(server, send);
  await lookups(server, console, contract, send);
  await actions(send);
  await reviews(server, send);
  await configuration(t, contract, send);
  await tooMuch(server, console, contract, send);
  // 507 needs a full disk: see the next test.
  assert.deepEqual(
    contract.unseen().filter((name) => !name.endsWith(' 507')),
    [],
    'operations and statuses that are described, but were never seen',
  );
});

test('if the journal cannot record a change, each operation that changes something replies 507', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const { console } = await startConsole(t, { server: { data_folder_path: join(disk, 'data') } });
  const contract = await console.contract();
  const send = exerciseOf(console, contract);
  fillDisk(join(disk, 'filler'));
  // The events of failed logins fill the disk, until only the space reserved for running changes is left.
  for (let login = 0; login < 20; login++) await console.get('/api/me', { user: `olga:wrong-${login}` });
  for (const { method, path, target, operation } of operationsOf(contract))
    if (507 in operation.responses) await send(method, path, target, 507);
  const unseen = contract.unseen().filter((name) => name.endsWith(' 507'));
  assert.deepEqual(unseen, []);
});

/** Sends each operation the requests that it must refuse. */
async function refusals(t: TestContext, contract: Contract, send: Exercise) {
  const { console: banning } = await startConsole(t, { server: { security_policy: { ban_after_failures: 1 } } });
  await banning.get('/api/me', { user: 'olga:wrong' });
  const asBanned = exerciseOf(banning, contract);
  for (const { method, path, target, operation } of operationsOf(contract)) {
    const { responses, requestBody } = operation;
    const isLogin = path.startsWith('/api/login');
    if (401 in responses && !isLogin) {
      await send(method, path, target, 401, {});
      await asBanned(method, path, target, 429);
      if (403 in responses) await send(method, path, target, 403, asViewer);
    }
    if (403 in responses && method !== 'GET') await send(method, path, target, 403, { ...asOperator, headers: foreign });
    if (requestBody) {
      await send(method, path, target, 400, { ...asOperator, body: '{' });
      // The body is only slightly larger than the limit: a much larger one would not be sent completely, because the service closes the
      // connection.
      const most = /replays|lift|expectations/.test(path) ? 1024 * 1024 : 64 * 1024;
      await send(method, path, target, 413, withBody({ pad: 'x'.repeat(most) }));
      await send(method, path, target, 415, { ...asOperator, headers: { 'content-type': 'text/plain' }, body: '{}' });
    } else if (400 in responses && !path.startsWith('/api/configuration')) await send(method, path, `${target}?unknown=1`, 400);
    // Without the query `expectation`, this path exists always.
    if (404 in responses && path !== '/api/occurrences')
      await send(method, path, target, 404, requestBody ? withBody({ url: 'x' }) : asOperator);
  }
  await asBanned('POST', '/api/login', '/api/login', 429, withBody(credentials, {}));
  await asBanned('POST', '/api/login/link', '/api/login/link', 429, withBody({ token: 'x' }, {}));
}

async function logins(server: TestServer, send: Exercise) {
  const headers = { cookie: '', origin: '' };
  await send('POST', '/api/login', '/api/login', 401, withBody({ ...credentials, password: 'wrong' }, {}));
  const reply = await send('POST', '/api/login', '/api/login', 200, withBody(credentials, {}));
  headers.cookie = String(reply.headers['set-cookie']).split(';', 1)[0] as string;
  headers.origin = new URL(server.service.consoleLink('olga') ?? '').origin;
  const token = new URL(server.service.consoleLink('olga') ?? '').hash.slice('#token='.length);
  await send('POST', '/api/login/link', '/api/login/link', 200, withBody({ token }, {}));
  await send('POST', '/api/login/link', '/api/login/link', 401, withBody({ token }, {}));
  await send('GET', '/api/me', '/api/me', 200, { headers });
  await send('POST', '/api/logout', '/api/logout', 204, { headers });
  await send('GET', '/api/me', '/api/me', 401, { headers });
}

async function reviews(server: TestServer, send: Exercise) {
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const { results } = (await server.put(`/home/held-${name}`, 'odd')).json<{ results: { held: string }[] }>();
    ids.push(String(results[0]?.held));
  }
  await send('GET', '/api/held', '/api/held', 200, asReviewer);
  for (const name of ['/api/tokens', '/api/links']) {
    await send('GET', name, `${name}?account=alice`, 200);
    await send('POST', `${name}/revoke`, `${name}/revoke`, 200, withBody({ ids: ['unknown'] }));
  }
  await send('POST', '/api/held/targets', '/api/held/targets', 200, withBody({ ids: [ids[0], 'other'] }, asReviewer));
  await send('GET', '/api/held/{id}/content', `/api/held/${ids[0]}/content`, 200, asReviewer);
  for (const [index, action] of ['release', 'inspect-again', 'discard'].entries())
    await send('POST', `/api/held/${action}`, `/api/held/${action}`, 200, withBody({ ids: [ids[index], 'other'] }, asReviewer));
}

async function lookups(server: TestServer, console: ConsoleClient, contract: Contract, send: Exercise) {
  await server.put('/home/a.txt', 'x');
  await server.login();
  await until('the delivery of the upload is recorded', async () => {
    const { deliveries } = (await console.get('/api/deliveries', asViewer)).json<{ deliveries: unknown[] }>();
    return deliveries.length === 1;
  });
  const look = (path: string, target = path, options: TestRequest = asViewer) => send('GET', path, target, 200, options);
  for (const path of ['/api/overview', '/api/samples', '/api/configuration', '/api/handlers', '/api/replays']) await look(path);
  for (const name of ['sessions', 'bans', 'locks', 'held', 'uploads', 'trash']) {
    await look(`/api/${name}`, `/api/${name}?account=alice&address=127.0.0.0/8&id=a&id=b&limit=10`);
    if (name !== 'held') await send('DELETE', `/api/${name}`, `/api/${name}?all=1`, 200);
  }
  await look('/api/accounts', '/api/accounts?search=a&group=DEFAULT_GROUP&limit=10&cursor=a');
  await look('/api/accounts/{name}', '/api/accounts/alice');
  await send('POST', '/api/trash/restore', '/api/trash/restore', 200, withBody({ ids: ['unknown'] }));
  const span = 'since=2020-01-01T00:00:00Z&until=2100-01-01T00:00:00Z';
  const filter = `${span}&id=40017,40021&group=operation-write&account=alice&account=bob&path=/&address=127.0.0.1&text=a.txt`;
  const found = await look('/api/events', `/api/events?${filter}&limit=1`);
  const { events, next } = found.json<{ events: { uuid: string; data: { request_id: string } }[]; next: string }>();
  const [event] = events as [(typeof events)[0]];
  await look('/api/events', `/api/events?cursor=${next}&request_id=${event.data.request_id}`);
  await look('/api/events', '/api/events?limit=2', { ...asViewer, headers: { accept: 'application/x-ndjson' } });
  await look('/api/events/histogram', `/api/events/histogram?${filter}&buckets=5`);
  await look('/api/events/catalogue');
  await look('/api/events/{uuid}', `/api/events/${event.uuid}?at=${new Date().toISOString()}`);
  await look('/api/deliveries', `/api/deliveries?${span}&handler=crm&outcome=delivered&kind=deliveries&event_id=40017&limit=1`);
  const { deliveries } = (await look('/api/deliveries', `/api/deliveries?event_uuid=${event.uuid}`)).json<{ deliveries: Named[] }>();
  await look('/api/deliveries/{id}', `/api/deliveries/${deliveries[0]?.id}`);
  for (const [path, query] of [
    ['/api/live', ''],
    ['/api/events/live', `?${filter}`],
  ] as const) {
    contract.check('GET', path, await headOf(console, path + query));
    contract.checkRequest('GET', path, new URLSearchParams(query), undefined);
  }
}

/** Returns the head of an endless reply. */
function headOf(console: ConsoleClient, target: string): Promise<TestReply> {
  const headers = { authorization: `Basic ${Buffer.from(asViewer.user).toString('base64')}` };
  return new Promise((resolve, reject) => {
    const outgoing = get(console.url + target, { headers, agent: false }, (incoming) => {
      const { statusCode: status = 0, headers: replied, rawHeaders } = incoming;
      incoming.destroy();
      resolve({ status, headers: replied, rawHeaders, body: Buffer.alloc(0), text: '', json: () => assert.fail('a stream') });
    });
    outgoing.on('error', reject);
  });
}

async function actions(send: Exercise) {
  const handlers = (await send('GET', '/api/handlers', '/api/handlers', 200)).json<{ handlers: { suspended_urls: { url: string }[] }[] }>();
  const [suspended] = handlers.handlers.flatMap(({ suspended_urls }) => suspended_urls);
  const of = (action: string, status: number, options = asOperator as TestRequest) =>
    send('POST', `/api/handlers/{uuid}/${action}`, `/api/handlers/crm/${action}`, status, options);
  await of('lift-suspension', 204, withBody({ url: suspended?.url }));
  for (const action of ['pause', 'resume', 'start']) await of(action, 204);
  await of('test', 200);
  const start = async (body: Record<string, unknown>) =>
    (await send('POST', '/api/replays', '/api/replays', 202, withBody(body))).json<Named>().id;
  const done = async (id: string) => {
    await until('the replay is done', async () => {
      const reply = await send('GET', '/api/replays/{id}', `/api/replays/${id}`, 200);
      return reply.json<{ state: string }>().state === 'done';
    });
    await send('GET', '/api/replays/{id}/results', `/api/replays/${id}/results`, 200);
  };
  const filter = { since: '2020-01-01T00:00:00Z', id: ['40017'], account: ['alice'], path: ['/'] };
  await done(await start({ filter, handlers: ['crm'], dry_run: true, failed: false, force: false }));
  await done(await start({ failed: true }));
  await send('GET', '/api/replays', '/api/replays', 200);
  const { expectations } = (await send('GET', '/api/expectations', '/api/expectations', 200)).json<{
    expectations: { expectation: string; last: { due: string; state: string } }[];
  }>();
  assert.deepEqual(
    expectations.map(({ expectation, last }) => [expectation, last.state]),
    [
      ['met', 'met'],
      ['missing', 'missing'],
    ],
  );
  const due = expectations[0]?.last.due;
  const excuse = (uuid: string, body: object, status: number) =>
    send('POST', '/api/expectations/{uuid}/excuse', `/api/expectations/${uuid}/excuse`, status, withBody(body));
  await excuse('missing', { due, reason: 'a holiday' }, 200);
  await excuse('met', { due, reason: 'a holiday' }, 409);
  await excuse('nobody', { due, reason: 'a holiday' }, 404);
  const again = (uuid: string, body: object, status: number) =>
    send('POST', '/api/expectations/{uuid}/expect-again', `/api/expectations/${uuid}/expect-again`, status, withBody(body));
  const anHourOn = new Date(Date.now() + 3_600_000).toISOString();
  await again('met', { due, until: anHourOn }, 200);
  await again('met', { due, until: anHourOn }, 409);
  await again('nobody', { due, until: anHourOn }, 404);
  for (const bad of ['soon', '2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z']) await again('missing', { due, until: bad }, 400);
  const all = (await send('GET', '/api/occurrences', '/api/occurrences', 200)).json<{ occurrences: { state: string }[]; total: number }>();
  assert.ok(all.total >= 4 && all.occurrences.length === all.total, 'each expectation is listed for yesterday or today, and for tomorrow');
  const backwards = '?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z';
  await send('GET', '/api/occurrences', `/api/occurrences${backwards}`, 400);
  for (const [query, status] of [
    ['by_day_in=Asia/Kolkata&expectation=missing', 200],
    ['by_day_in=nowhere', 400],
    ['expectation=nobody', 404],
  ] as const)
    await send('GET', '/api/occurrences', `/api/occurrences?${query}`, status);
  const occurrences = (uuid: string, status: number, query = '') =>
    send('GET', '/api/expectations/{uuid}/occurrences', `/api/expectations/${uuid}/occurrences${query}`, status);
  assert.match((await occurrences('missing', 200, '?days=2')).text, /"state":"excused","reason":"a holiday"/);
  await occurrences('missing', 200, '?days=2&by_day_in=UTC');
  await occurrences('missing', 400, '?days=0');
  await occurrences('nobody', 404);
  await send('POST', '/api/explain', '/api/explain', 200, withBody({ user: 'alice', method: 'PUT', path: '/home/a' }));
  const known = { username: 'alice', password: testPassword, method: 'local', peer: '192.0.2.1' };
  await send('POST', '/api/auth-test', '/api/auth-test', 200, withBody(known));
}

async function configuration(t: TestContext, contract: Contract, send: Exercise) {
  const folder = temporaryFolder(t);
  await writeConfig(folder, { services: { web: { type: 'http', port: 0 }, console: await consoleService() } });
  const running = start(t, ['serve'], { cwd: folder });
  const [, url = ''] = await running.line(/console listening on (\S+)\/\n/);
  const withFile = exerciseOf(new ConsoleClient(url), contract);
  const reload = (by: Exercise) => by('POST', '/api/configuration/reload', '/api/configuration/reload', 200);
  const look = async (by: Exercise, status: number) => {
    for (const name of ['findings', 'changes']) await by('GET', `/api/configuration/${name}`, `/api/configuration/${name}`, status);
  };
  await look(withFile, 200);
  await reload(withFile);
  rmSync(join(folder, 'svc.config.json'));
  await look(withFile, 400);
  await look(send, 200);
  await reload(send);
}

/** Sends more requests than may run or wait. */
async function tooMuch(server: TestServer, console: ConsoleClient, contract: Contract, send: Exercise) {
  const slowly = withBody({ filter: { id: ['40017'] }, handlers: ['slow'], force: true });
  const { id } = (await send('POST', '/api/replays', '/api/replays', 202, slowly)).json<Named>();
  for (let others = 1; others < 22; others++) await send('POST', '/api/replays', '/api/replays', 202, slowly);
  await send('POST', '/api/replays', '/api/replays', 429, slowly);
  await send('DELETE', '/api/replays/{id}', `/api/replays/${id}`, 204);

  // Slow searches: of many concurrent ones some wait, and the others are refused.
  const path = join(server.folder, 'data/journal/events-00000001.ndjson');
  const [line = ''] = readFileSync(path, 'utf8').split('\n');
  appendFileSync(path, `${line.replace('"message":"', `"message":"${'x'.repeat(100_000)}`)}\n`.repeat(200));
  const headers = await console.session();
  for (const [of, target] of [
    ['/api/events', '/api/events?text=nowhere'],
    ['/api/events/histogram', '/api/events/histogram?text=nowhere'],
    ['/api/events/{uuid}', '/api/events/unknown'],
  ] as const)
    await refusedOnce(contract, of, () => Promise.all(Array.from({ length: 60 }, () => console.get(target, { headers }))));
  const tested = { username: 'bob', password: 'marker-Slow-1' };
  const tests = Array.from({ length: 12 }, () => console.post('/api/auth-test', tested, asOperator));
  contract.check('POST', '/api/auth-test', await Promise.any(tests));
}

/** Sends requests until one is refused with 503. */
async function refusedOnce(contract: Contract, path: string, ask: () => Promise<TestReply[]>) {
  for (let attempt = 0; attempt < 10; attempt++) {
    const refused = (await ask()).find(({ status }) => status === 503);
    if (refused) return contract.check('GET', path, refused);
  }
  assert.fail(`${path} was never refused`);
}
