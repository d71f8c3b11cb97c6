import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';
import { propBody, propfind } from '../support/webdav.ts';

const extra = (name: string) => `{http://apache.org/dav/props/}${name}`;
const dav = (name: string) => `{DAV:}${name}`;

async function withTree(t: Parameters<typeof startServer>[0]): Promise<TestServer> {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd/sub'), { recursive: true });
  writeFileSync(join(server.home, 'd/a.txt'), 'hello');
  utimesSync(join(server.home, 'd/a.txt'), 1_700_000_000, 1_700_000_000);
  return server;
}

test('OPTIONS lists the methods of the URL', async (t) => {
  const server = await withTree(t);
  for (const [target, allow] of [
    ['/home/d/', 'OPTIONS, GET, HEAD, PUT, DELETE, POST, MKCOL, PROPFIND, PROPPATCH, COPY, MOVE'],
    ['/home/d/a.txt', 'OPTIONS, GET, HEAD, PUT, DELETE, PROPFIND, PROPPATCH, COPY, MOVE'],
    ['*', 'OPTIONS, GET, HEAD, PUT, DELETE, POST, MKCOL, PROPFIND, PROPPATCH, COPY, MOVE, PATCH'],
    ['/', 'OPTIONS, GET, HEAD, PROPFIND'],
  ] as const) {
    const reply = await server.send('OPTIONS', target, { user: null });
    assert.equal(reply.status, 204, target);
    assert.deepEqual([reply.headers.allow, reply.headers.dav, reply.headers['ms-author-via']], [allow, '1', 'DAV'], target);
  }
  for (const method of ['LOCK', 'UNLOCK']) assert.equal((await server.send(method, '/home/d/a.txt')).status, 405);
});

test('an empty body and allprop give every property, in both namespaces', async (t) => {
  const server = await withTree(t);
  for (const body of ['', '<propfind xmlns="DAV:"><allprop/></propfind>', '<X:propfind xmlns:X="DAV:"><X:allprop/></X:propfind>']) {
    const { reply, responses } = await propfind(server, '/home/d/', '1', body);
    assert.equal(reply.headers['content-type'], 'application/xml; charset=utf-8');
    assert.equal(reply.headers['server-path'], '/d');
    assert.deepEqual(responses.map((response) => response.href).toSorted(), ['/home/d/', '/home/d/a.txt', '/home/d/sub/']);
    const file = responses.find((response) => response.href === '/home/d/a.txt');
    const folder = responses.find((response) => response.href === '/home/d/sub/');
    const etag = (await server.get('/home/d/a.txt')).headers.etag;
    const created = new Date(Math.floor(statSync(join(server.home, 'd/a.txt')).birthtimeMs / 1000) * 1000).toISOString();
    assert.deepEqual(file?.found, {
      [dav('displayname')]: 'a.txt',
      [dav('getcontentlength')]: '5',
      [dav('getlastmodified')]: 'Tue, 14 Nov 2023 22:13:20 GMT',
      [dav('resourcetype')]: '',
      [dav('getetag')]: etag,
      [dav('getcontenttype')]: 'text/plain; charset=utf-8',
      [dav('creationdate')]: created.replace('.000Z', 'Z'),
      [extra('displayname')]: 'a.txt',
      [extra('getcontentlength')]: '5',
      [extra('getlastmodified')]: 'Tue, 14 Nov 2023 22:13:20 GMT',
      [extra('resourcetype')]: '',
    });
    assert.equal(folder?.found[dav('resourcetype')], '<{DAV:}collection>');
    assert.equal(folder?.found[extra('resourcetype')], '<{http://apache.org/dav/props/}collection>');
    assert.equal(folder?.found[dav('iscollection')], '1');
    assert.equal(folder?.found[dav('getcontentlength')], undefined);
    assert.deepEqual(folder?.missing, {}, 'allprop names nothing as missing');
  }
});

test('prop: found and missing properties are separated; unknown names are returned as they were sent', async (t) => {
  const server = await withTree(t);
  const body =
    '<D:propfind xmlns:D="DAV:" xmlns:e="http://example.com/&lt;x&gt;"><D:prop><D:getcontentlength/><D:getetag/><e:colour/><none xmlns=""/><D:nonsense/></D:prop></D:propfind>';
  const { responses } = await propfind(server, '/home/d/sub/', '0', body);
  assert.equal(responses.length, 1);
  assert.deepEqual(responses[0]?.found, {});
  assert.deepEqual(responses[0]?.missing, {
    [dav('getcontentlength')]: 404,
    [dav('getetag')]: 404,
    '{http://example.com/<x>}colour': 404,
    '{}none': 404,
    [dav('nonsense')]: 404,
  });
  const file = await propfind(server, '/home/d/a.txt', '1', body);
  assert.equal(file.responses.length, 1, 'a file has no members');
  assert.equal(file.responses[0]?.found[dav('getcontentlength')], '5');
  assert.deepEqual(Object.keys(file.responses[0]?.missing ?? {}).length, 3);
});

test('propname gives names without values', async (t) => {
  const server = await withTree(t);
  const { reply, responses } = await propfind(server, '/home/d/a.txt', '0', '<propfind xmlns="DAV:"><propname/></propfind>');
  assert.ok(Object.values(responses[0]?.found ?? { x: 'x' }).every((value) => value === ''));
  assert.ok(dav('getetag') in (responses[0]?.found ?? {}));
  assert.ok(!reply.text.includes('hello') && !reply.text.includes('GMT'));
});

test('Depth may be 0, 1, infinity or absent, and have noroot; invalid values are refused', async (t) => {
  const server = await withTree(t);
  const hrefs = async (depth: string | undefined) =>
    (await propfind(server, '/home/d/', depth)).responses.map((response) => response.href).toSorted();
  const whole = ['/home/d/', '/home/d/a.txt', '/home/d/sub/'];
  assert.deepEqual(await hrefs('0'), ['/home/d/']);
  assert.deepEqual(await hrefs('1'), whole);
  assert.deepEqual(await hrefs('infinity'), whole, 'infinity is 1');
  assert.deepEqual(await hrefs('Infinity'), whole);
  assert.deepEqual(await hrefs(undefined), whole);
  assert.deepEqual(await hrefs('1,noroot'), whole.slice(1));
  assert.deepEqual(await hrefs('1, noroot'), whole.slice(1));
  assert.deepEqual(await hrefs('0,noroot'), []);
  for (const depth of ['2', '-1', 'all', '1,', '1,noroot,noroot', '0x0', ''])
    assert.equal((await server.send('PROPFIND', '/home/d/', { headers: { depth } })).status, 400, depth);
});

test('a folder without its slash is answered directly, with its URL', async (t) => {
  const server = await withTree(t);
  const { reply, responses } = await propfind(server, '/home/d', '1');
  assert.equal(reply.headers['content-location'], '/home/d/');
  assert.ok(responses.every((response) => response.href.startsWith('/home/d/')));
  const home = await propfind(server, '/home', '0');
  assert.deepEqual([home.reply.headers['content-location'], home.responses[0]?.href], ['/home/', '/home/']);
  assert.equal((await propfind(server, '/home/d/', '0')).reply.headers['content-location'], undefined);
  assert.equal((await server.send('PROPFIND', '/home/d/a.txt/')).status, 404, 'a file is not a folder');
  assert.equal((await server.send('PROPFIND', '/home/nothing')).status, 404);
  assert.equal((await server.send('PROPFIND', '/')).status, 307);
  assert.equal((await server.send('PROPFIND', '/home/__svc__/')).status, 403);
});

test('quota properties are sent only on request, and have the values of the quota if there is one', async (t) => {
  const body = propBody('quota-available-bytes', 'quota-used-bytes');
  const free = await startServer(t);
  writeFileSync(join(free.home, 'a'), 'x'.repeat(1000));
  const { responses } = await propfind(free, '/home/', '0', body);
  assert.ok(Number(responses[0]?.found[dav('quota-available-bytes')]) > 0);
  const all = await propfind(free, '/home/', '1');
  assert.ok(!all.reply.text.includes('quota-'));
  const limited = await startServer(t, { group: { quota_size: 5000 } });
  writeFileSync(join(limited.home, 'a'), 'x'.repeat(1000));
  const found = (await propfind(limited, '/home/', '0', body)).responses[0]?.found;
  assert.deepEqual(found, { [dav('quota-available-bytes')]: '4000', [dav('quota-used-bytes')]: '1000' });
  const file = await propfind(limited, '/home/a', '0', body);
  assert.deepEqual(file.responses[0]?.missing, { [dav('quota-available-bytes')]: 404, [dav('quota-used-bytes')]: 404 });
});

test('a virtual folder without its real folder is listed without disk space', async (t) => {
  const server = await startServer(t, { group: { virtual_folders: [['/v', '/nowhere/at/all']] } });
  const { responses } = await propfind(server, '/home/v/', '0', propBody('resourcetype', 'quota-available-bytes'));
  assert.deepEqual(responses[0]?.missing, { [dav('quota-available-bytes')]: 404 });
  assert.equal((await server.send('PROPFIND', '/home/v/', { headers: { depth: '1' } })).status, 404);
});

test('awkward names: every href leads back to its file, and every name is unchanged', async (t) => {
  const server = await startServer(t);
  const names = ['a b', 'ü漢😀', '100%', "it's;&=+$,@!<>", '#h?', 'new\nline', '"q"', 'cr\rx', 'tab\t', 'a\\b', '..x', ']]>'];
  for (const name of names) writeFileSync(join(server.home, name), name);
  const { responses } = await propfind(server, '/home/', '1,noroot');
  assert.equal(responses.length, names.length);
  for (const response of responses) {
    const got = await server.get(response.href);
    assert.equal(got.status, 200, response.href);
    assert.ok(names.includes(got.text));
    assert.match(response.href, /^[\x21-\x7e]+$/);
  }
  writeFileSync(join(server.home, 'bell\x07'), '');
  const bell = (await propfind(server, '/home/bell%07', '0')).responses[0];
  assert.equal(bell?.found[dav('displayname')], 'bell', 'XML cannot carry the character; the href can');
  assert.equal(bell?.href, '/home/bell%07');
});

test('names that are not UTF-8 are not listed, with event 40028 each time', async (t) => {
  const server = await startServer(t);
  execFileSync('bash', ['-c', 'printf x > "$(printf "%s/bad\\xff\\xfename" "$1")"', 'bash', server.home]);
  writeFileSync(join(server.home, 'good'), '');
  const { responses } = await propfind(server, '/home/', '1,noroot');
  assert.deepEqual(
    responses.map((response) => response.href),
    ['/home/good'],
  );
  assert.deepEqual(await server.names('/home/'), ['good']);
  assert.deepEqual(
    (await server.eventIds()).filter((id) => id === 40028),
    [40028, 40028],
  );
});

test('a listing has virtual folders, but no temporary files, and no symbolic links that lead out of the home folder', async (t) => {
  const server = await startServer(t);
  await server.stop();
  mkdirSync(join(server.folder, 'shared'));
  const inside = await startServer(t, {
    group: {
      home_folder_path: server.home,
      virtual_folders: [
        ['/shared', join(server.folder, 'shared')],
        ['/p/q', join(server.folder, 'shared')],
      ],
    },
  });
  mkdirSync(join(server.home, 'shared'));
  symlinkSync('/etc', join(server.home, 'out'));
  writeFileSync(join(server.home, '.svc-0123456789abcdef01234567.part'), 'half');
  writeFileSync(join(server.home, 'file'), '');
  symlinkSync('file', join(server.home, 'link'));
  const hrefs = (await propfind(inside, '/home/', '1,noroot')).responses.map((response) => response.href).toSorted();
  assert.deepEqual(hrefs, ['/home/file', '/home/link', '/home/p/', '/home/shared/']);
  const virtual = await propfind(inside, '/home/p/', '1', propBody('resourcetype', 'quota-available-bytes'));
  assert.deepEqual(virtual.responses.map((response) => response.href).toSorted(), ['/home/p/', '/home/p/q/']);
});

test('allow-list shows members, allow-read only the resource itself, allow-traverse only folders; the rest gets 403', async (t) => {
  const outcomes = async (keywords: string[]) => {
    const server = await startServer(t, { group: { permissions: [keywords] } });
    mkdirSync(join(server.home, 'd/sub'), { recursive: true });
    writeFileSync(join(server.home, 'd/f'), '');
    const status = async (target: string, depth: string) => {
      const reply = await server.send('PROPFIND', target, { headers: { depth } });
      return reply.status === 207 ? reply.text.split('<D:response>').length - 1 : reply.status;
    };
    return [await status('/home/d/', '0'), await status('/home/d/', '1'), await status('/home/d/f', '0'), await status('/home/none', '0')];
  };
  assert.deepEqual(await outcomes(['allow-list']), [1, 3, 1, 404]);
  assert.deepEqual(await outcomes(['allow-read']), [1, 403, 1, 404]);
  assert.deepEqual(await outcomes(['allow-traverse']), [1, 2, 403, 403]);
  assert.deepEqual(await outcomes(['allow-write']), [403, 403, 403, 403]);
});

test('a folder that changes while it is listed: each remaining member is listed once', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 3000; index++) writeFileSync(join(server.home, `keep-${index}`), '');
  for (let index = 0; index < 500; index++) writeFileSync(join(server.home, `goes-${index}`), '');
  const listing = propfind(server, '/home/', '1,noroot');
  for (let index = 0; index < 500; index++) {
    if (index % 2 === 0) unlinkSync(join(server.home, `goes-${index}`));
    else renameSync(join(server.home, `goes-${index}`), join(server.home, `renamed-${index}`));
    if (index % 10 === 0) await new Promise(setImmediate);
  }
  const { responses } = await listing;
  const kept = responses.map((response) => response.href).filter((href) => href.includes('keep-'));
  assert.equal(kept.length, 3000);
  assert.equal(new Set(kept).size, 3000);
});

test('a listing has event 40007, and a refused listing has event 40014', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ['/no', 'allow-read']] } });
  mkdirSync(join(server.home, 'no'));
  await propfind(server, '/home/', '1');
  assert.equal((await server.send('PROPFIND', '/home/no/')).status, 403);
  assert.deepEqual(await server.eventIds(), [40007, 40014]);
});
