import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { startServer } from '../support/server.ts';

interface Operation {
  operationId: string;
  responses: Record<string, unknown>;
}

test('the description is OpenAPI 3.0.3, complete in its references, and names every route', async (t) => {
  const server = await startServer(t);
  const reply = await server.get('/__svc__/openapi.yaml', { user: null });
  assert.equal(reply.status, 200);
  assert.match(String(reply.headers['content-type']), /^application\/yaml/);
  const document = parse(reply.text);
  assert.equal(document.openapi, '3.0.3');
  for (const [, reference] of reply.text.matchAll(/\$ref: '#\/([^']+)'/g)) {
    const target = (reference ?? '').split('/').reduce((at, key) => at?.[key], document);
    assert.ok(target, reference);
  }
  const operations = Object.values(document.paths).flatMap((path) =>
    Object.entries(path as Record<string, Operation>).filter(([method]) => method !== 'parameters'),
  );
  assert.deepEqual(operations.map(([, operation]) => operation.operationId).sort(), [
    'deleteFile',
    'deleteFolder',
    'getFile',
    'getFolder',
    'headFile',
    'login',
    'logout',
    'putFile',
    'putFolder',
    'runCommands',
    'updatePassword',
  ]);
});

test('live replies have the statuses that the description names', async (t) => {
  const server = await startServer(t);
  const document = parse((await server.get('/__svc__/openapi.yaml', { user: null })).text);
  const json = { accept: 'application/json' };
  const requests: [string, string, string, Record<string, string>, string | undefined][] = [
    ['put', '/home/{file}', '/home/a', {}, 'x'],
    ['put', '/home/{file}', '/home/no/a', {}, 'x'],
    ['put', '/home/{file}', '/home/a', { 'if-none-match': '*' }, 'x'],
    ['put', '/home/{file}', '/home/a', { 'content-md5': 'x' }, 'x'],
    ['get', '/home/{file}', '/home/a', {}, undefined],
    ['get', '/home/{file}', '/home/a', { range: 'bytes=0-0' }, undefined],
    ['get', '/home/{file}', '/home/a', { range: 'bytes=9-' }, undefined],
    ['get', '/home/{file}', '/home/a', { 'if-none-match': '*' }, undefined],
    ['get', '/home/{file}', '/home/missing', {}, undefined],
    ['put', '/home/{folder}/', '/home/d/', {}, undefined],
    ['put', '/home/{folder}/', '/home/d/', {}, undefined],
    ['get', '/home/{folder}/', '/home/d/', json, undefined],
    ['get', '/home/{folder}/', '/home/d/', { accept: 'application/zip' }, undefined],
    ['get', '/home/{file}', '/home/d', {}, undefined],
    [
      'post',
      '/home/{folder}/',
      '/home/d/',
      { 'content-type': 'application/json' },
      '{"commands":[{"command":"create-folder","target":"x"}]}',
    ],
    [
      'post',
      '/home/{folder}/',
      '/home/d/',
      { 'content-type': 'application/json' },
      '{"commands":[{"command":"create-folder","target":"x"}]}',
    ],
    ['post', '/home/{folder}/', '/home/d/', { 'content-type': 'application/json' }, '{'],
    ['delete', '/home/{folder}/', '/home/d/', {}, undefined],
    ['delete', '/home/{file}', '/home/a', {}, undefined],
    ['delete', '/home/{file}', '/home/a', {}, undefined],
    ['post', '/__svc__/login', '/__svc__/login', { 'content-type': 'application/json', ...json }, '{"username":"alice","password":"no"}'],
  ];
  const seen = new Set<number>();
  for (const [method, path, target, headers, body] of requests) {
    const reply = await server.send(method.toUpperCase(), target, { headers, ...(body === undefined ? {} : { body }) });
    seen.add(reply.status);
    assert.ok(document.paths[path][method].responses[String(reply.status)], `${method} ${path}: ${reply.status} is not described`);
  }
  assert.ok(seen.size >= 12, `${[...seen]}`);
});

test('the API page and its files come from the service itself under a strict policy', async (t) => {
  const server = await startServer(t);
  const page = await server.get('/__svc__/openapi.html', { user: null });
  assert.equal(page.status, 200);
  assert.match(String(page.headers['content-security-policy']), /script-src 'self'/);
  const files = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)].map((match) => match[1] as string);
  assert.ok(files.length >= 4);
  for (const file of files) {
    const reply = await server.get(file, { user: null });
    assert.equal(reply.status, 200, file);
    assert.ok(file.startsWith('/__svc__/') && reply.body.length > 100);
  }
  assert.equal(/<script>|style=|onload=|https?:\/\/(?!opensource)/.test(page.text), false, 'nothing inline, nothing from elsewhere');
});
