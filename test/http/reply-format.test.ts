import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const run = promisify(execFile);

type Kind = 'html' | 'json' | 'zip';

function kindOf(contentType: string | undefined): Kind | undefined {
  return (['html', 'json', 'zip'] as const).find((kind) => contentType?.includes(kind));
}

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

/** Accept and Content-Type of a request, and the type of a folder's listing and of an error. */
const cases: [accept: string | undefined, contentType: string | undefined, listing: Kind, error: Kind][] = [
  [undefined, undefined, 'html', 'json'],
  ['*/*', undefined, 'html', 'json'],
  ['*/*;q=0.8', undefined, 'html', 'json'],
  ['image/png', undefined, 'html', 'json'],
  ['application/json', undefined, 'json', 'json'],
  ['application/json; charset=utf-8', undefined, 'json', 'json'],
  ['application/json;charset=utf-8;q=0.9, text/html;q=0.5', undefined, 'json', 'json'],
  ['application/json;q=0.5, text/html; charset=utf-8', undefined, 'html', 'html'],
  ['APPLICATION/JSON ; version=1', undefined, 'json', 'json'],
  ['application/zip', undefined, 'zip', 'json'],
  ['application/zip; charset=binary', undefined, 'zip', 'json'],
  ['application/zip;q=0.5, application/json', undefined, 'json', 'json'],
  ['application/zip, text/html;q=0.9', undefined, 'zip', 'html'],
  [browser, undefined, 'html', 'html'],
  ['text/*', undefined, 'html', 'html'],
  ['application/*', undefined, 'json', 'json'],
  [undefined, 'text/html', 'html', 'html'],
  ['*/*', 'text/html; charset=utf-8', 'html', 'html'],
  ['*/*;q=0.8', 'text/html', 'html', 'html'],
  ['application/json', 'text/html', 'json', 'json'],
  [undefined, 'application/json', 'json', 'json'],
  ['*/*', 'application/json; charset=utf-8', 'json', 'json'],
  ['text/html', 'application/json', 'json', 'json'],
  ['application/zip', 'application/json', 'zip', 'json'],
  ['*/*', 'application/x-www-form-urlencoded', 'html', 'json'],
  ['*/*', 'multipart/form-data; boundary=b', 'html', 'json'],
  [browser, 'application/x-www-form-urlencoded', 'html', 'html'],
];

test('the type of a listing and of an error follows from Accept and from the content type of the request', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'd/f'), 'x');
  for (const [accept, contentType, listing, error] of cases) {
    const headers = { ...(accept === undefined ? {} : { accept }), ...(contentType === undefined ? {} : { 'content-type': contentType }) };
    const what = JSON.stringify(headers);
    assert.equal(kindOf((await server.get('/home/d/', { headers })).headers['content-type']), listing, what);
    for (const [method, path, status] of [
      ['GET', '/home/missing/', 404],
      ['GET', '/home/d/missing', 404],
      ['PUT', '/home/missing/f', 409],
      ['DELETE', '/home/missing', 404],
    ] as const) {
      const reply = await server.send(method, path, { headers });
      assert.equal(reply.status, status, what);
      assert.equal(kindOf(reply.headers['content-type']), error, `${method} ${path} ${what}`);
    }
  }
});

test('a JSON body is answered in JSON, with any Accept', async (t) => {
  const server = await startServer(t);
  const accept = { accept: 'text/html' };
  const done = await server.commands('/home/', [{ command: 'create-folder', target: 'd' }], { headers: accept });
  assert.equal(kindOf(done.headers['content-type']), 'json');
  const failed = await server.commands('/home/', [{ command: 'delete', target: 'none' }], { headers: accept });
  assert.equal(failed.status, 422);
  assert.equal(failed.json<{ errors: { target: string }[] }>().errors[0]?.target, 'none');
  const login = await server.send('POST', '/__svc__/login', {
    user: null,
    headers: { ...accept, 'content-type': 'application/json' },
    body: '{"username":"alice","password":"wrong"}',
  });
  assert.equal(login.status, 401);
  assert.equal(login.json<{ errors: { title: string }[] }>().errors[0]?.title, 'Unauthorized');
});

test('curl -d gets the errors in JSON, for a failed login and for a PUT into a missing folder', async (t) => {
  if (!hasProgram(t, 'curl')) return;
  const server = await startServer(t);
  const curl = async (...args: string[]) => {
    const { stdout } = await run('curl', ['-sS', '-w', '\\n%{http_code} %{content_type}', ...args]);
    const [body = '', told = ''] = stdout.split('\n');
    return { errors: JSON.parse(body).errors, told };
  };
  const login = await curl('-d', 'username=alice&password=wrong', `${server.url}/__svc__/login`);
  assert.equal(login.told, '401 application/json; charset=utf-8');
  assert.equal(login.errors[0].title, 'Unauthorized');
  const put = await curl('-u', `alice:${testUser.split(':')[1]}`, '-X', 'PUT', '-d', 'x', `${server.url}/home/missing/f`);
  assert.equal(put.told, '409 application/json; charset=utf-8');
  assert.equal(typeof put.errors[0].message, 'string');
  const form = await curl('-u', testUser, '-F', 'action=delete-members', '-F', 'selected-members=none', `${server.url}/home/`);
  assert.equal(form.told, '404 application/json; charset=utf-8');
  assert.equal(form.errors[0].target, 'none');
});

test('the reply to a form has the type with the higher quality in Accept', async (t) => {
  const server = await startServer(t);
  const create = (name: string, accept: string) =>
    server.send('POST', '/home/', {
      headers: { accept, 'content-type': 'application/x-www-form-urlencoded' },
      body: `action=create-folder&new-folder=${name}`,
    });
  assert.equal((await create('a', 'application/json;charset=utf-8')).status, 200);
  assert.equal((await create('b', 'text/html, application/json;q=0.5')).status, 303);
  assert.equal((await create('c', 'application/json, text/html;q=0.5')).status, 200);
  assert.equal((await create('d', '*/*')).status, 303, 'a redirect, as JSON was not asked for by name');
});
