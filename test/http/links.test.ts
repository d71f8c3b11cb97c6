import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { json, makeLink, type NewLink, page, told, visit } from '../support/links.ts';
import { startServer } from '../support/server.ts';

test('a link to a file serves a page, JSON, and the file with ranges, HEAD and ETag; no event contains the secret', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out'));
  writeFileSync(join(server.home, 'out/report 1.txt'), 'all of the report');
  const made = await server.send('POST', '/home/__svc__/links', {
    headers: json,
    body: JSON.stringify({ path: '/out/report 1.txt', note: 'As promised', expires: 3600 }),
  });
  assert.equal(made.status, 201, made.text);
  const { id, url, expires } = made.json<NewLink>();
  assert.match(url, new RegExp(`^http://127\\.0\\.0\\.1:${server.port}/__svc__/s/svc_l_[0-9A-Za-z]{49}/$`));
  assert.equal(made.headers.location, `/home/__svc__/links/${id}`);
  assert.ok(Math.abs(Date.parse(expires) - Date.now() - 3_600_000) < 60_000);
  const at = new URL(url).pathname;

  const shown = await visit(server, 'GET', at, { headers: page });
  assert.equal(shown.status, 200);
  assert.match(shown.text, /report 1\.txt/);
  assert.match(shown.text, /From alice/);
  assert.match(shown.text, /As promised/);
  assert.doesNotMatch(shown.text, /\/out/, 'the page does not show the path');
  assert.deepEqual(
    ['referrer-policy', 'x-robots-tag', 'x-frame-options', 'set-cookie', 'server-path'].map((name) => shown.headers[name]),
    ['no-referrer', 'noindex, nofollow, noarchive', 'DENY', undefined, undefined],
  );
  assert.match(String(shown.headers['content-security-policy']), /frame-ancestors 'none'/);

  const described = await visit(server, 'GET', at, { headers: { accept: 'application/json' } });
  assert.deepEqual(described.json(), { kind: 'download', name: 'report 1.txt', size: 17, from: 'alice', expires, note: 'As promised' });

  const bare = await visit(server, 'GET', at.slice(0, -1));
  assert.deepEqual([bare.status, bare.headers.location], [308, at]);
  for (const target of [at, `${at}report%201.txt`]) {
    const whole = await visit(server, 'GET', target);
    assert.deepEqual([whole.status, whole.text], [200, 'all of the report']);
    assert.match(String(whole.headers['content-disposition']), /^attachment; filename="report 1.txt"/);
    assert.equal(whole.headers['server-path'], undefined);
    assert.equal(whole.headers['referrer-policy'], 'no-referrer');
    const part = await visit(server, 'GET', target, { headers: { range: 'bytes=11-' } });
    assert.deepEqual([part.status, part.text, part.headers['content-range']], [206, 'report', 'bytes 11-16/17']);
    const same = await visit(server, 'GET', target, { headers: { 'if-none-match': String(whole.headers.etag) } });
    assert.equal(same.status, 304);
    const head = await visit(server, 'HEAD', target);
    assert.deepEqual([head.status, head.headers['content-length'], head.text], [200, '17', '']);
  }
  for (const other of ['other.txt', 'report%201.txt/', 'receipt', 'uploads/x', '%2e%2e/x'])
    assert.ok([400, 404].includes((await visit(server, 'GET', at + other)).status), other);
  for (const method of ['PUT', 'DELETE', 'POST', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'MKCOL', 'PATCH'])
    assert.equal((await visit(server, method, `${at}report%201.txt`)).status, 405, method);

  const events = await told(server, 40083, 40085, 40039);
  assert.deepEqual(events.map(({ id: event, data }) => [event, data.link, data.path]).slice(0, 3), [
    ['40083', id, '/out/report 1.txt'],
    ['40085', id, '/out/report 1.txt'],
    ['40039', id, '/out/report 1.txt'],
  ]);
  assert.equal(events.filter((event) => event.id === '40085').length, 1, 'one event is emitted for each visitor and hour');
  const secret = at.split('/')[3] as string;
  assert.ok(!JSON.stringify(await server.events()).includes(secret));
});

test('a link to a folder serves listings, sub-folders and a ZIP; nothing outside the folder can be reached or changed', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out/sub/deep'), { recursive: true });
  mkdirSync(join(server.home, 'private'));
  writeFileSync(join(server.home, 'out/a.txt'), 'a');
  writeFileSync(join(server.home, 'out/sub/b.txt'), 'b');
  writeFileSync(join(server.home, 'private/key.txt'), 'TOP');
  symlinkSync('../private', join(server.home, 'out/way-out'));
  symlinkSync('../private/key.txt', join(server.home, 'out/key-link'));
  const { at } = await makeLink(server, { path: '/out' });
  const listed = await visit(server, 'GET', at, { headers: { accept: 'application/json' } });
  const { content, ...facts } = listed.json<{ content: { name: string }[]; kind: string; name: string }>();
  assert.deepEqual([facts.kind, facts.name], ['download', 'out']);
  assert.deepEqual(
    content.map(({ name }) => name).filter((name) => !name.includes('-')),
    ['a.txt', 'sub'],
  );
  const shown = await visit(server, 'GET', at, { headers: page });
  assert.match(shown.text, /sub\//);
  assert.doesNotMatch(shown.text, /\/home\//);
  const inside = await visit(server, 'GET', `${at}sub/b.txt`);
  assert.deepEqual([inside.status, inside.text], [200, 'b']);
  const redirected = await visit(server, 'GET', `${at}sub`);
  assert.deepEqual([redirected.status, redirected.headers.location], [302, `${at}sub/`]);
  for (const archive of [
    await visit(server, 'GET', at, { headers: { accept: 'application/zip' } }),
    await visit(server, 'GET', `${at}?zip`),
  ]) {
    assert.equal(archive.headers['content-type'], 'application/zip');
    assert.ok(archive.body.includes('out/sub/b.txt'));
    assert.ok(!archive.body.includes('TOP'));
  }
  for (const target of [
    'way-out/key.txt',
    'way-out/',
    'key-link',
    '../private/key.txt',
    '%2e%2e/private/key.txt',
    'sub/../../private/key.txt',
  ]) {
    const reply = await visit(server, 'GET', at + target);
    assert.ok(reply.status >= 400 && !reply.text.includes('TOP'), `${target}: ${reply.status}`);
  }
  for (const target of ['new.txt', 'a.txt']) assert.equal((await visit(server, 'PUT', at + target, { body: 'x' })).status, 405);
});

test('a drop link accepts PUT, forms and resumable uploads; taken names get numbers; no file is readable; receipts list files', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  writeFileSync(join(server.home, 'in/order.csv'), 'of somebody else');
  const { at, id } = await makeLink(server, { path: '/in', kind: 'drop' });
  const shown = await visit(server, 'GET', at, { headers: page });
  assert.equal(shown.status, 200);
  assert.doesNotMatch(shown.text, /order\.csv/);
  const put = await visit(server, 'PUT', `${at}order.csv`, { body: 'one;two' });
  assert.equal(put.status, 201, put.text);
  const [first] = put.json<{ results: { target: string; size: number; digest: { 'sha-256': string }; event_id: string }[] }>().results;
  const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');
  assert.deepEqual([first?.target, first?.size, first?.digest], ['order (2).csv', 7, { 'sha-256': sha256('one;two') }]);
  assert.equal(readFileSync(join(server.home, 'in/order.csv'), 'utf8'), 'of somebody else');

  const boundary = 'xxBOUNDARYxx';
  const body = `--${boundary}\r\nContent-Disposition: form-data; name="action"\r\n\r\nupload-file\r\n--${boundary}\r\nContent-Disposition: form-data; name="upload-file"; filename="form.txt"\r\n\r\nby form\r\n--${boundary}--\r\n`;
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}`, origin: 'null', ...page };
  const form = await visit(server, 'POST', at, { headers, body });
  assert.equal(form.status, 303, form.text);
  assert.match(String(form.headers.location), /\/receipt\?ids=[0-9a-f-]{36}$/);

  const tus = { 'tus-resumable': '1.0.0' };
  const metadata = `filename ${Buffer.from('large.bin').toString('base64')}`;
  const options = await visit(server, 'OPTIONS', `${at}uploads/`);
  assert.deepEqual([options.status, options.headers.allow, options.headers['tus-version']], [204, 'POST, OPTIONS', '1.0.0']);
  assert.match(String(options.headers['upload-limit']), /^min-size=0/);
  assert.equal((await visit(server, 'DELETE', `${at}uploads/`)).headers.allow, 'POST, OPTIONS');
  const created = await visit(server, 'POST', `${at}uploads/`, { headers: { ...tus, 'upload-length': '10', 'upload-metadata': metadata } });
  assert.equal(created.status, 201, created.text);
  const location = String(created.headers.location);
  assert.ok(location.startsWith(`${at}uploads/`));
  const patch = (offset: number, content: string) =>
    visit(server, 'PATCH', location, {
      headers: { ...tus, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' },
      body: content,
    });
  assert.equal((await patch(0, '01234')).status, 204);
  assert.equal((await visit(server, 'HEAD', location, { headers: tus })).headers['upload-offset'], '5');
  const last = await patch(5, '56789');
  assert.equal(last.status, 204, last.text);
  const ids = [first?.event_id, String(form.headers.location).split('=')[1], last.headers['event-id']];
  const receipt = await visit(server, 'GET', `${at}receipt?ids=${ids.join(',')}`, { headers: { accept: 'application/json' } });
  const { files } = receipt.json<{ files: { target: string; size: number; digest: { 'sha-256': string } }[] }>();
  assert.deepEqual(
    files.map(({ target, size, digest }) => [target, size, digest['sha-256']]),
    [
      ['order (2).csv', 7, sha256('one;two')],
      ['form.txt', 7, sha256('by form')],
      ['large.bin', 10, sha256('0123456789')],
    ],
  );
  const text = await visit(server, 'GET', `${at}receipt?ids=${ids.join(',')}&as=text`);
  assert.ok(text.text.includes(createHash('sha256').update('0123456789').digest('hex')));
  const receiptPage = await visit(server, 'GET', `${at}receipt?ids=${ids.join(',')}`, { headers: page });
  assert.match(receiptPage.text, /3 files have arrived/);
  assert.deepEqual(readdirSync(join(server.home, 'in')).sort(), ['form.txt', 'large.bin', 'order (2).csv', 'order.csv']);
  assert.deepEqual(new Set((await told(server, 40017)).map(({ data }) => data.link)), new Set([id]));
  for (const target of ['order.csv', 'sub/', 'sub/x', '?search=order', '?zip'])
    assert.ok(!(await visit(server, 'GET', at + target)).text.includes('somebody'), target);
  assert.equal((await visit(server, 'PUT', `${at}sub/x`, { body: 'x' })).status, 404);
  for (const method of ['DELETE', 'MOVE', 'COPY', 'PROPFIND', 'LOCK', 'MKCOL'])
    assert.equal((await visit(server, method, `${at}order.csv`)).status, 405, method);
});
