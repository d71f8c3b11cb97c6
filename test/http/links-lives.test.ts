import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { json, makeLink, orderLink, page, told, visit } from '../support/links.ts';
import { until } from '../support/receiver.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a link ends with the right to share, its file or its time; its page then shows no file or account', async (t) => {
  const server = await startServer(t, { group: { links: { maximum_days: 1 } } });
  for (const name of ['a.txt', 'gone.txt', 'short.txt']) writeFileSync(join(server.home, name), 'a');
  assert.equal((await orderLink(server, { path: '/a.txt', expires: 86_401 })).status, 422, 'the lifetime exceeds the maximum of the group');
  const [link, gone, short] = [
    await makeLink(server, { path: '/a.txt' }),
    await makeLink(server, { path: '/gone.txt' }),
    await makeLink(server, { path: '/short.txt', expires: 1 }),
  ];
  rmSync(join(server.home, 'gone.txt'));
  for (const target of [gone.at, `${gone.at}gone.txt`]) assert.equal((await visit(server, 'GET', target)).status, 410, target);
  await until('the time has passed', async () => (await visit(server, 'GET', short.at)).status === 410);
  await until('the expiry is reported', async () =>
    (await told(server, 40084)).some(({ data }) => data.link === short.id && data.reason === 'expired'),
  );
  assert.equal((await visit(server, 'GET', link.at)).text, 'a');
  const { service } = server;
  await service.reload(await testConfig(server.folder, { group: { permissions: [['allow-read', 'allow-list']] } }));
  const over = await visit(server, 'GET', link.at, { headers: page });
  assert.equal(over.status, 410);
  assert.doesNotMatch(over.text, /a\.txt|alice/);
  assert.ok((await told(server, 40086)).some(({ data }) => data.link === link.id && data.reason === 'right'));
});

test('virtual folders below a shared path are shared, too; no path, archive or search reaches other virtual folders', async (t) => {
  const outside = temporaryFolder(t);
  mkdirSync(join(outside, 'one'));
  mkdirSync(join(outside, 'two'));
  writeFileSync(join(outside, 'one/in.txt'), 'inside');
  writeFileSync(join(outside, 'two/secret.txt'), 'TOP');
  const group = {
    virtual_folders: [
      ['/out/one', join(outside, 'one')],
      ['/other/two', join(outside, 'two')],
    ],
  };
  const server = await startServer(t, { group });
  mkdirSync(join(server.home, 'out'), { recursive: true });
  const { at } = await makeLink(server, { path: '/out' });
  assert.equal((await visit(server, 'GET', `${at}one/in.txt`)).text, 'inside');
  const archive = await visit(server, 'GET', `${at}?zip`);
  assert.ok(archive.body.includes('in.txt') && !archive.body.includes('secret'));
  for (const target of [
    'two/secret.txt',
    '../other/two/secret.txt',
    '%2e%2e/other/two/secret.txt',
    '..%2fother%2ftwo%2fsecret.txt',
    'OUT/one/in.txt',
  ])
    assert.ok((await visit(server, 'GET', at + target)).status >= 400, target);
  const searched = await visit(server, 'GET', `${at}?search=secret`);
  assert.ok(!searched.text.includes('secret.txt'));
});

test('the URL of a link never contains an untrusted Host header', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'a');
  for (const headers of [
    { host: 'evil.example' },
    { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' },
  ]) {
    const reply = await server.send('POST', '/home/__svc__/links', { headers: { ...json, ...headers }, body: '{"path": "/a.txt"}' });
    assert.equal(reply.status, 201, reply.text);
    assert.equal(new URL(reply.json<{ url: string }>().url).host, `127.0.0.1:${server.port}`);
    const { at } = await makeLink(server, { path: '/a.txt' });
    const bare = await visit(server, 'GET', at.slice(0, -1), { headers });
    assert.equal(bare.headers.location, at, 'no redirect leads to another host');
  }
});

test('a cut download that began with the first byte counts towards the maximum of its link; its resumption does not', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'large'), Buffer.alloc(32 * 1024 * 1024));
  const { at } = await makeLink(server, { path: '/large', maximum_downloads: 1 });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`GET ${at}large HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  assert.equal((await visit(server, 'GET', `${at}large`)).status, 410);
  const rest = await visit(server, 'GET', `${at}large`, { headers: { range: 'bytes=33554000-' } });
  assert.deepEqual([rest.status, rest.body.length], [206, 432]);
});
