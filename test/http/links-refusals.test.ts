import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeSecret } from '../../src/lib/secrets.ts';
import { makeLink, orderLink, page, told, visit } from '../support/links.ts';
import { basicOf } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

test('a link is refused without the right to share, for a wrong path or request, and beyond limits of the group', async (t) => {
  const server = await startServer(t, {
    group: {
      permissions: [
        ['allow-full-control'],
        ['/closed/*', 'allow-full-control'],
        ['/mute*', 'allow-share', 'allow-create-file'],
        ['/own*', 'allow-read', 'allow-list'],
      ],
      links: { maximum: 2, maximum_days: 30, default_days: 7 },
    },
  });
  for (const folder of ['out', 'mute', 'own']) mkdirSync(join(server.home, folder));
  writeFileSync(join(server.home, 'out/a.txt'), 'a');
  const status = async (order: object) => (await orderLink(server, order)).status;
  assert.equal(await status({ path: '/own' }), 403, 'the account has no right to share');
  assert.equal(await status({ path: '/mute' }), 422, 'the account itself may not read it');
  assert.equal(await status({ path: '/out/none.txt' }), 404);
  assert.equal(await status({ path: '/out/a.txt', kind: 'drop' }), 422, 'a drop link needs a folder');
  assert.equal(await status({ path: '/out', expires: 31 * 86_400 }), 422);
  assert.match((await orderLink(server, { path: '/out', expires: 31 * 86_400 })).text, /30 days/);
  for (const [order, expected] of [
    [{ path: '/out', expires: -1 }, 422],
    [{ path: '/out', expires: '1d' }, 400],
    [{ path: '/out', maximum_downloads: 0 }, 422],
    [{ path: '/out', maximum_downloads: 1.5 }, 400],
    [{ path: '/out', kind: 'drop', maximum_downloads: 3 }, 422],
    [{ path: '/out', password: '' }, 422],
    [{ path: '/out', note: 'a\u0000b' }, 422],
    [{ path: '/out', kind: 'both' }, 400],
    [{ path: '/out', other: 1 }, 400],
    [{ path: 'out' }, 400],
    [{ path: '/out/../own' }, 400],
    [{ path: '/__svc__' }, 403],
    [{}, 400],
    [[], 400],
  ] as const)
    assert.equal(await status(order), expected, JSON.stringify(order));
  assert.equal((await server.send('POST', '/home/__svc__/links', { body: 'path=/out' })).status, 415);
  const usual = (await orderLink(server, { path: '/out' })).json<{ expires: string }>();
  assert.ok(
    Math.abs(Date.parse(usual.expires) - Date.now() - 7 * 86_400_000) < 60_000,
    'without an expiry, a link has the default lifetime',
  );
  assert.equal(await status({ path: '/mute', kind: 'drop' }), 201, 'a drop link does not need the right to read');
  assert.equal(await status({ path: '/out' }), 429, 'the group may have no more links');
  assert.equal((await server.send('POST', '/home/__svc__/links', { user: null })).status, 401);
});

test('with require_password, a link without a password is refused, and one with a password asks for it', async (t) => {
  const server = await startServer(t, { group: { links: { require_password: true } } });
  writeFileSync(join(server.home, 'a.txt'), 'a');
  assert.equal((await orderLink(server, { path: '/a.txt' })).status, 422);
  const { at } = await makeLink(server, { path: '/a.txt', password: 'a word' });
  assert.equal((await visit(server, 'GET', at)).status, 401);
});

test('a link with a password reveals nothing without the password; the form sets a cookie for this link; guesses are limited', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 3 } } });
  writeFileSync(join(server.home, 'plan.txt'), 'the plan');
  const password = 'correct horse';
  const { at, id } = await makeLink(server, { path: '/plan.txt', password });
  const closed = await visit(server, 'GET', at, { headers: page });
  assert.equal(closed.status, 401);
  assert.match(closed.text, /needs a password/);
  assert.doesNotMatch(closed.text, /plan\.txt|alice/);
  assert.equal(closed.headers['www-authenticate'], undefined, 'the browser opens no dialog');
  const program = await visit(server, 'GET', `${at}plan.txt`);
  assert.deepEqual([program.status, program.headers['www-authenticate']], [401, 'basic realm="Link"']);
  const basic = await visit(server, 'GET', `${at}plan.txt`, { headers: { authorization: basicOf(`anybody:${password}`) } });
  assert.deepEqual([basic.status, basic.text], [200, 'the plan']);
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...page };
  const opened = await visit(server, 'POST', at, {
    headers: { ...form, origin: 'null' },
    body: `password=${encodeURIComponent(password)}`,
  });
  assert.deepEqual([opened.status, opened.headers.location], [303, at]);
  const [cookie = ''] = opened.headers['set-cookie'] ?? [];
  assert.match(cookie, new RegExp(`^SVC_LINK=[\\w-]{43}; Path=${at}; HttpOnly; SameSite=Lax$`));
  const withCookie = await visit(server, 'GET', `${at}plan.txt`, { headers: { cookie: cookie.split(';')[0] as string } });
  assert.equal(withCookie.text, 'the plan');
  const other = await makeLink(server, { path: '/plan.txt', password });
  assert.equal((await visit(server, 'GET', other.at, { headers: { cookie: cookie.split(';')[0] as string } })).status, 401);
  const evil = await visit(server, 'POST', at, { headers: { ...form, origin: 'https://evil.example' }, body: `password=${password}` });
  assert.equal(evil.status, 400, 'the form of another site is refused');
  const foreign = { ...form, origin: 'null', 'sec-fetch-site': 'cross-site' };
  assert.equal((await visit(server, 'POST', at, { headers: foreign, body: `password=${password}` })).status, 400);
  const statuses: number[] = [];
  for (let guess = 0; guess < 4; guess++)
    statuses.push((await visit(server, 'POST', at, { headers: form, body: `password=guess${guess}` })).status);
  assert.deepEqual(statuses, [401, 401, 401, 429]);
  const events = JSON.stringify(await server.events());
  assert.ok(!events.includes('guess1') && !events.includes(at.split('/')[3] as string));
  assert.ok((await told(server, 20005)).some(({ data }) => data.username === id || data.by === 'address'));
});

test('wrong secrets get 404, and 429 after too many; typos do not count, and a valid link still works', async (t) => {
  const server = await startServer(t, { group: { links: {} }, server: { security_policy: { ban_after_failures: 5 } } });
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const link = await makeLink(server, { path: '/a.txt' });
  for (const secret of ['x', 'svc_l_short', `${link.secret.slice(0, -1)}${link.secret.endsWith('0') ? '1' : '0'}`])
    assert.equal((await visit(server, 'GET', `/__svc__/s/${secret}/`)).status, 404, 'a typo does not count as a guess');
  const guesses: number[] = [];
  for (let guess = 0; guess < 6; guess++) guesses.push((await visit(server, 'GET', `/__svc__/s/${makeSecret('link').secret}/`)).status);
  assert.deepEqual(guesses, [404, 404, 404, 404, 404, 429]);
  assert.equal((await visit(server, 'GET', link.at)).text, 'a', 'the valid link still works');
});

test('a link that was revoked over REST gets 410, is reported, and is not listed; the secret of a token is not a link', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'a');
  const link = await makeLink(server, { path: '/a.txt', note: 'For Bob' });
  const listed = (await server.send('GET', '/home/__svc__/links')).json<{ links: Record<string, unknown>[] }>().links;
  assert.deepEqual(
    listed.map(({ id, kind, path, note, downloads, copyable, url }) => [id, kind, path, note, downloads, copyable, url]),
    [[link.id, 'download', '/a.txt', 'For Bob', 0, false, undefined]],
  );
  assert.equal((await server.send('DELETE', '/home/__svc__/links/none')).status, 404);
  assert.equal((await server.send('DELETE', `/home/__svc__/links/${link.id}`)).status, 204);
  assert.equal((await server.send('DELETE', `/home/__svc__/links/${link.id}`)).status, 404);
  const over = await visit(server, 'GET', link.at, { headers: page });
  assert.equal(over.status, 410);
  assert.match(over.text, /This link has ended/);
  assert.doesNotMatch(over.text, /a\.txt|alice/);
  assert.equal((await visit(server, 'GET', `${link.at}a.txt`)).status, 410);
  assert.deepEqual((await server.send('GET', '/home/__svc__/links')).json(), { links: [] });
  const ended = await told(server, 40084, 40086);
  assert.deepEqual(
    ended.map(({ id, data }) => [id, data.link, data.reason]),
    [
      ['40084', link.id, 'revoked'],
      ['40086', link.id, 'revoked'],
    ],
  );
  assert.equal((await visit(server, 'GET', `/__svc__/s/${makeSecret('token').secret}/`)).status, 404);
});

test('requests for the first byte and for archives count as downloads of a link; HEAD, later ranges and pages do not', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out'));
  writeFileSync(join(server.home, 'out/a.txt'), 'abcdef');
  const open = await makeLink(server, { path: '/out' });
  for (const query of ['?inline', '']) assert.equal((await visit(server, 'GET', `${open.at}a.txt${query}`)).status, 200);
  const listed = await server.send('GET', '/home/__svc__/links', { headers: { accept: 'application/json' } });
  assert.equal(JSON.parse(listed.text).links[0].downloads, 1, 'without a maximum, a preview does not count');
  const { at, id } = await makeLink(server, { path: '/out/a.txt', maximum_downloads: 2 });
  const get = (headers = {}) => visit(server, 'GET', `${at}a.txt`, { headers });
  await visit(server, 'HEAD', `${at}a.txt`);
  await visit(server, 'GET', at, { headers: page });
  assert.equal((await get({ range: 'bytes=3-' })).status, 206);
  assert.equal((await visit(server, 'GET', `${at}a.txt?inline`, { headers: { range: 'bytes=0-1' } })).status, 206);
  const replies = await Promise.all([get(), get(), get()]);
  assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 410, 410]);
  assert.equal((await get()).status, 410);
  for (const accept of ['text/html', 'application/json']) {
    const over = await visit(server, 'GET', at, { headers: { accept } });
    assert.equal(over.status, 410, 'no page offers a download that is refused');
    assert.ok(!over.text.includes(`href="${at}`), 'the page does not lead back to the link');
  }
  assert.match((await server.send('GET', '/home/__svc__/links', { headers: page })).text, /Used up.*2 of 2 downloads/);
  assert.equal((await get({ range: 'bytes=3-' })).status, 206, 'the rest of a counted download can still be requested');
  assert.deepEqual(
    (await told(server, 40086)).map(({ data }) => [data.link, data.reason]),
    [[id, 'used-up']],
    'at most one event is emitted within a minute',
  );
  const folder = await makeLink(server, { path: '/out', maximum_downloads: 1 });
  assert.equal((await visit(server, 'GET', `${folder.at}?zip`)).status, 200);
  assert.equal((await visit(server, 'GET', `${folder.at}a.txt`)).status, 410);
  assert.equal((await visit(server, 'GET', folder.at, { headers: page })).status, 410);
});

test('for a drop link, quota and file size limit apply; nothing can be read, and no other folder can be written', async (t) => {
  const server = await startServer(t, { group: { quota_size: 1000, file_write_size: 600 } });
  mkdirSync(join(server.home, 'in'));
  const { at } = await makeLink(server, { path: '/in', kind: 'drop' });
  assert.equal((await visit(server, 'PUT', `${at}a`, { body: 'x'.repeat(601) })).status, 413);
  assert.equal((await visit(server, 'PUT', `${at}a`, { body: 'x'.repeat(600) })).status, 201);
  assert.equal((await visit(server, 'PUT', `${at}b`, { body: 'x'.repeat(600) })).status, 507);
  for (const name of ['a', 'b', 'in', '..%2fout', '%2e%2e']) {
    const reply = await visit(server, 'GET', at + name);
    assert.ok(reply.status >= 400 && !reply.text.includes('xxx'), name);
  }
  const metadata = (text: string) => ({ 'tus-resumable': '1.0.0', 'upload-length': '3', 'upload-metadata': text });
  const named = (key: string, value: string) => metadata(`${key} ${Buffer.from(value).toString('base64')}`);
  for (const headers of [
    named('path', '/out/x'),
    named('filename', '../x'),
    named('path', '/a/b'),
    metadata('folder L291dA==,filename eA=='),
  ])
    assert.ok((await visit(server, 'POST', `${at}uploads/`, { headers })).status >= 400);
  assert.deepEqual([readdirSync(join(server.home, 'in')), existsSync(join(server.home, 'out'))], [['a'], false]);
});
