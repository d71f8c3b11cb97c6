import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import type { EventDraft } from '../../src/events/event.ts';
import { assetPaths } from '../../src/http/html/pages/assets.ts';
import { httpOptions } from '../../src/http/options.ts';
import { Exchange, type HttpService } from '../../src/http/request/exchange.ts';
import { createApp } from '../../src/http/routes.ts';

interface Request {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** Makes an app with default options, without accounts and files. `app.request` of Hono calls it without a server or a socket. */
function startApp() {
  const app = createApp();
  const events: EventDraft[] = [];
  const service = {
    options: httpOptions.parse({ type: 'http' }),
    component: { type: 'http', uuid: 'c' },
    baseHeaders: { server: 'svc' },
    proxies: { header: '', isProxy: () => false },
    events: { emit: (draft: EventDraft) => events.push(draft), grouped: () => undefined },
    sessions: { find: async () => undefined },
    bans: { isRefused: async () => undefined },
    chain: { authenticateWithoutCredentials: async () => undefined },
    log: { error: (...parts: unknown[]) => assert.fail(String(parts)) },
  } as unknown as HttpService;
  const ask = (target: string, { method = 'GET', headers = {}, body = '' }: Request = {}) => {
    const length = body === '' ? {} : { 'content-length': String(body.length) };
    const incoming = Object.assign(new IncomingMessage(new Socket()), {
      method,
      url: target,
      headers: { host: 'files.example', ...length, ...headers },
      rawHeaders: ['Host', 'files.example'],
      httpVersionMajor: 1,
      httpVersionMinor: 1,
      complete: body === '',
    });
    if (body !== '') incoming.push(body);
    incoming.push(null);
    const exchange = new Exchange(
      () => service,
      incoming,
      new ServerResponse(incoming),
      false,
      (_, error) => assert.fail(String(error)),
    );
    return app.request('/', { method }, exchange);
  };
  return { ask, events };
}

test('the login page, the API description and the files of pages are served without a login', async () => {
  const { ask } = startApp();
  const login = await ask('/__svc__/login', { headers: { 'accept-language': 'de' } });
  assert.deepEqual([login.status, login.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.match(await login.text(), /<html lang="de"/);
  const description = await ask('/__svc__/openapi.yaml', { headers: { 'x-request-id': 'r' } });
  assert.deepEqual([description.status, description.headers.get('x-request-id'), description.headers.get('server')], [200, 'r', 'svc']);
  assert.match(await description.text(), /^openapi: 3/);
  const style = await ask(assetPaths.style);
  assert.deepEqual([style.status, style.headers.get('cache-control')], [200, 'public, max-age=31536000, immutable']);
  assert.equal((await style.arrayBuffer()).byteLength, Number(style.headers.get('content-length')));
  assert.equal((await ask('/__svc__/assets/nothing.css')).status, 404);
});

test('redirects keep the query, and the method where it matters', async () => {
  const { ask } = startApp();
  const asked = async (method: string, target: string) => {
    const reply = await ask(target, { method });
    return [reply.status, reply.headers.get('location')];
  };
  assert.deepEqual(await asked('GET', '/'), [302, '/home/']);
  assert.deepEqual(await asked('GET', '/home?a=%2F'), [302, '/home/?a=%2F']);
  assert.deepEqual(await asked('PUT', '/home'), [307, '/home/']);
});

test('unknown paths, unsupported methods and invalid targets get a body of errors; an invalid target is event 40019', async () => {
  const { ask, events } = startApp();
  const asked = async (target: string, method = 'GET') => {
    const reply = await ask(target, { method });
    const { errors } = (await reply.json()) as { errors: { message: string }[] };
    return [reply.status, reply.headers.get('allow'), errors[0]?.message];
  };
  assert.deepEqual(await asked('/nothing'), [404, null, 'Path not found.']);
  assert.deepEqual(await asked('/__svc__/login', 'PUT'), [405, 'GET, HEAD, POST', 'PUT is not supported here.']);
  assert.deepEqual(await asked('/home/%zz'), [400, null, 'The URL has an invalid percent code.']);
  assert.deepEqual(
    events.map(({ id, data }) => [id, data?.details]),
    [[40019, 'The URL has an invalid percent code.']],
  );
});

test('OPTIONS describes a path even without a login', async () => {
  const { ask } = startApp();
  const reply = await ask('/home/a', { method: 'OPTIONS' });
  assert.deepEqual([reply.status, reply.headers.get('dav'), reply.headers.get('server-path')], [204, '1', '/a']);
  assert.equal(reply.headers.get('allow'), 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, COPY, MOVE');
});

test('without a login, scripts get 401 and browsers the login page', async () => {
  const { ask, events } = startApp();
  const script = await ask('/home/a', { headers: { 'x-requested-with': 'fetch' } });
  assert.deepEqual([script.status, script.headers.get('www-authenticate')], [401, 'session']);
  const browser = await ask('/home/a', { headers: { accept: 'text/html' } });
  assert.deepEqual([browser.status, browser.headers.get('location')], [302, '/__svc__/login?next=%2Fhome%2Fa']);
  assert.deepEqual(
    events.map(({ id }) => id),
    [40000, 40000],
  );
});

test('a small form is accepted, but refused if it comes from another origin', async () => {
  const { ask } = startApp();
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const choice = { method: 'POST', body: 'theme=dark&next=/home/x/' };
  const reply = await ask('/__svc__/theme', { ...choice, headers: form });
  assert.deepEqual([reply.status, reply.headers.get('location')], [303, '/home/x/']);
  assert.match(reply.headers.get('set-cookie') ?? '', /^SVC_THEME=dark;/);
  const foreign = await ask('/__svc__/theme', { ...choice, headers: { ...form, origin: 'https://evil.example' } });
  assert.deepEqual([foreign.status, foreign.headers.get('set-cookie')], [400, null]);
});
