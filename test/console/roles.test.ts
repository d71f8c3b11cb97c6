import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createConsoleApp } from '../../src/console/console-app.ts';
import { asOperator, asViewer, startConsole, viewerPassword } from '../support/console.ts';

/** Login and logout need no role. */
const forEverybody = ['/api/login', '/api/login/link', '/api/logout'];

test('each operation is in the API description; changes by a viewer or from another origin are refused', async (t) => {
  const { server, console } = await startConsole(t);
  const operations = (await console.contract()).operations().map(([name]) => name.split(' ') as [method: string, path: string]);
  const described = operations.map(([method, path]) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`);
  const answered = createConsoleApp().routes.filter(({ method, path }) => method !== 'ALL' && path.startsWith('/api/'));
  assert.deepEqual(answered.map(({ method, path }) => `${method} ${path}`).sort(), described.sort());

  const [ofViewer, ofOperator] = [await console.session('vera', viewerPassword), await console.session()];
  const foreign = [{}, { origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }];
  const changing = operations.filter(([method]) => method !== 'get').map(([method, path]) => [method.toUpperCase(), path] as const);
  assert.ok(changing.length > 10);
  for (const [method, path] of changing) {
    const target = `${path.replaceAll(/\{\w+\}/g, 'some')}${method === 'DELETE' ? '?all=1' : ''}`;
    const send = async (options: object) => (await console.send(method, target, { body: '{}', ...options })).status;
    const headers = { 'content-type': 'application/json' };
    for (const origin of foreign)
      assert.equal(
        await send({ headers: { ...headers, cookie: ofOperator.cookie, ...origin } }),
        403,
        `${method} ${path} ${JSON.stringify(origin)}`,
      );
    for (const origin of foreign.slice(1))
      assert.equal(await send({ ...asOperator, headers: { ...headers, ...origin } }), 403, `${method} ${path}, Basic`);
    if (forEverybody.includes(path)) continue;
    assert.equal(await send({ headers: { ...headers, ...ofViewer } }), 403, `${method} ${path} by a viewer's session`);
    assert.equal(await send({ ...asViewer, headers }), 403, `${method} ${path} by a viewer's password`);
  }
  const done = (await server.events()).filter(({ id }) => id === '20191');
  assert.deepEqual(done, [], 'no action was carried out');
  assert.equal((await console.get('/api/me', { headers: ofOperator })).status, 200, 'the operator is still logged in');
});
