import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';
import { propfind } from '../support/webdav.ts';

const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">${Array.from({ length: 9 }, (_, index) => `<!ENTITY a${index} "${`&a${index === 0 ? '' : index - 1};`.repeat(10)}">`).join('')}]><propfind xmlns="DAV:"><prop><x>&a8;</x></prop></propfind>`;

const badBodies: Record<string, string | Buffer> = {
  'not XML': 'hello',
  'not closed': '<propfind xmlns="DAV:"><allprop/>',
  'crossed tags': '<propfind xmlns="DAV:"><a><b></a></b></propfind>',
  'two roots': '<propfind xmlns="DAV:"><allprop/></propfind><propfind xmlns="DAV:"><allprop/></propfind>',
  'text after the root': '<propfind xmlns="DAV:"><allprop/></propfind>tail',
  'a document type': '<!DOCTYPE propfind><propfind xmlns="DAV:"><allprop/></propfind>',
  'a document type in small letters': '<!doctype propfind><propfind xmlns="DAV:"><allprop/></propfind>',
  'an external entity':
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><propfind xmlns="DAV:"><prop><x>&e;</x></prop></propfind>',
  'exploding entities': bomb,
  'an undeclared entity': '<propfind xmlns="DAV:"><prop>&nbsp;</prop></propfind>',
  'the wrong namespace': '<propfind xmlns="http://example.com/"><allprop/></propfind>',
  'no namespace': '<propfind><allprop/></propfind>',
  'an undeclared prefix': '<D:propfind><D:allprop/></D:propfind>',
  'an undeclared prefix inside': '<propfind xmlns="DAV:"><prop><x:y/></prop></propfind>',
  'a prefix declared empty': '<D:propfind xmlns:D="DAV:"><D:prop><b:c xmlns:b=""/></D:prop></D:propfind>',
  'a wrong root': '<propertyupdate xmlns="DAV:"><allprop/></propertyupdate>',
  'nothing asked': '<propfind xmlns="DAV:"/>',
  'two things asked': '<propfind xmlns="DAV:"><allprop/><propname/></propfind>',
  'a name with two colons': '<propfind xmlns="DAV:"><prop><a:b:c xmlns:a="x"/></prop></propfind>',
  'too many properties': `<propfind xmlns="DAV:"><prop>${Array.from({ length: 251 }, (_, index) => `<p${index}/>`).join('')}</prop></propfind>`,
  'too deep': `<propfind xmlns="DAV:"><prop>${'<a>'.repeat(500)}${'</a>'.repeat(500)}</prop></propfind>`,
  'not UTF-8': Buffer.from('<propfind xmlns="DAV:"><prop><\xff/></prop></propfind>', 'latin1'),
  'a name that the parser refuses': '<propfind xmlns="DAV:"><prop><__proto__/></prop></propfind>',
  'the character 0': '<propfind xmlns="DAV:"><prop><x>&#0;</x></prop></propfind>',
  'half a character': '<propfind xmlns="DAV:"><prop><x a="&#xD800;"/></prop></propfind>',
  'NUL bytes': '<propfind xmlns="DAV:">\0<allprop/></propfind>',
};

test('malformed PROPFIND bodies get 400 and event 40019; no file is read, and the server continues', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  for (const [what, body] of Object.entries(badBodies)) {
    const before = process.cpuUsage();
    const reply = await server.send('PROPFIND', '/home/', { body, headers: { 'content-type': 'application/xml' } });
    assert.equal(reply.status, 400, what);
    assert.ok(!reply.text.includes('root:'), what);
    assert.ok(process.cpuUsage(before).user < 2_000_000, what);
  }
  const ids = await server.eventIds();
  assert.deepEqual(
    ids,
    Object.keys(badBodies).map(() => 40019),
  );
  assert.equal((await propfind(server, '/home/', '1')).responses.length, 2);
});

test('PROPFIND bodies that are unusual but valid are answered', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'x');
  const plain = '<propfind xmlns="DAV:"><prop><getcontentlength/></prop></propfind>';
  const bodies: Record<string, string | Buffer> = {
    'a byte order mark': `\ufeff${plain}`,
    'UTF-16, little end': Buffer.from(`\ufeff${plain}`, 'utf16le'),
    'UTF-16, big end': Buffer.from(`\ufeff${plain}`, 'utf16le').swap16(),
    'comments and instructions': `<?xml version="1.0" encoding="utf-8"?><!-- c --><?pi x?>${plain.replace('<prop>', '<!-- d --><prop>')}`,
    'unknown elements': plain.replace('<prop>', '<unknown/><x:y xmlns:x="urn:x"/><prop>'),
    'names of object members': plain.replace('<getcontentlength/>', '<getcontentlength/><length/><toJSON/>'),
    'an inner default namespace': '<D:propfind xmlns:D="DAV:"><prop xmlns="DAV:"><getcontentlength/></prop></D:propfind>',
  };
  for (const [what, body] of Object.entries(bodies)) {
    const { responses } = await propfind(server, '/home/a', '0', body as string);
    assert.equal(responses[0]?.found['{DAV:}getcontentlength'], '1', what);
  }
});

test('bodies over 1 MiB get 413 and event 40019, whether or not their length is announced', async (t) => {
  const server = await startServer(t);
  const body = `<propfind xmlns="DAV:"><allprop/><!-- ${'x'.repeat(1024 * 1024)} --></propfind>`;
  assert.equal((await server.send('PROPFIND', '/home/', { body })).status, 413);
  assert.equal((await server.send('PROPFIND', '/home/', { body, headers: { 'transfer-encoding': 'chunked' } })).status, 413);
  const fits = `<propfind xmlns="DAV:"><allprop/><!-- ${'x'.repeat(1024 * 1024 - 100)} --></propfind>`;
  assert.equal((await server.send('PROPFIND', '/home/', { body: fits })).status, 207);
  assert.deepEqual(await server.eventIds(), [40019, 40019, 40007]);
});

test('MKCOL creates a folder with 201; taken names and URLs without a slash get 405, missing parents 409, and bodies 415', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'f'), '');
  const table: [string, string | undefined, number][] = [
    ['/home/d/', undefined, 201],
    ['/home/d/', undefined, 405],
    ['/home/f/', undefined, 405],
    ['/home/', undefined, 405],
    ['/home/x/y/', undefined, 409],
    ['/home/n', undefined, 405],
    ['/home/n/', '<x/>', 415],
    ['/home/n', '<x/>', 415],
  ];
  for (const [target, body, status] of table) {
    const reply = await server.send('MKCOL', target, body === undefined ? {} : { body });
    assert.equal(reply.status, status, `${target} ${body}`);
    if (status === 405) assert.match(String(reply.headers.allow), /PROPFIND/);
  }
  assert.deepEqual(readdirSync(server.home).toSorted(), ['d', 'f']);
  assert.deepEqual(
    (await server.eventIds()).filter((id) => id !== 40019),
    [40010, 40030, 40030, 40030, 40011],
  );
});

test('MKCOL needs its permission and reveals nothing without it', async (t) => {
  const server = await startServer(t, { group: { permissions: [['allow-full-control'], ['/no/*', 'allow-read']] } });
  mkdirSync(join(server.home, 'no/there'), { recursive: true });
  const [there, free] = [await server.send('MKCOL', '/home/no/there/'), await server.send('MKCOL', '/home/no/free/')];
  assert.deepEqual([there.status, free.status, there.text], [403, 403, free.text]);
});

test('PROPPATCH always gets 403, with event 40066', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  const body = '<propertyupdate xmlns="DAV:"><set><prop><displayname>x</displayname></prop></set></propertyupdate>';
  for (const [target, text] of [
    ['/home/a', body],
    ['/home/', body],
    ['/home/none', body],
    ['/home/a', 'nonsense'],
    ['/home/a', ''],
  ] as const)
    assert.equal((await server.send('PROPPATCH', target, { body: text })).status, 403);
  assert.deepEqual(await server.eventIds(), [40066, 40066, 40066, 40066, 40066]);
});

test('malformed If headers are refused, and nothing is changed', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'old');
  for (const condition of ['', 'x', '(', '()', '(x)', '([x])', '(<a>', '<http://x/>', '(<a>) trailing', '(<a>) <http://x/> (<b>)']) {
    for (const [method, extra] of [
      ['PUT', {}],
      ['DELETE', {}],
      ['MOVE', { destination: '/home/b' }],
      ['COPY', { destination: '/home/b' }],
    ] as const) {
      const reply = await server.send(method, '/home/a', {
        headers: { if: condition, ...extra },
        ...(method === 'PUT' ? { body: 'new' } : {}),
      });
      assert.equal(reply.status, 400, `${method} ${condition}`);
    }
  }
  assert.deepEqual(readdirSync(server.home), ['a']);
});

test('If: lists, negation and tags of other resources have the effects that RFC 4918 §10.4 defines', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'A');
  writeFileSync(join(server.home, 'b'), 'B');
  const a = String((await server.get('/home/a')).headers.etag);
  const b = String((await server.get('/home/b')).headers.etag);
  const put = async (condition: string) => {
    const reply = await server.put('/home/n', 'x', { headers: { if: condition } });
    if (reply.status === 201) await server.send('DELETE', '/home/n');
    return reply.status;
  };
  const host = server.url;
  assert.equal(await put(`<${host}/home/a> ([${a}])`), 201);
  assert.equal(await put(`</home/a> ([${b}])`), 412);
  assert.equal(await put(`</home/a> ([${b}]) ([${a}])`), 201, 'one list is enough');
  assert.equal(await put(`</home/a> ([${a}] [${b}])`), 412, 'all conditions of a list must hold');
  assert.equal(await put(`</home/a> ([${a}] Not [${b}])`), 201);
  assert.equal(await put(`</home/a> ([${b}]) </home/b> ([${b}])`), 201);
  assert.equal(await put(`([${a}])`), 412, 'the target does not exist yet');
  assert.equal(await put(`(Not [${a}])`), 201);
  assert.equal(await put('(<urn:uuid:1>)'), 412);
  assert.equal(await put('(Not <DAV:no-lock>)'), 201);
  assert.equal(await put('<http://elsewhere.example/home/a> (["x"])'), 502);
});
