import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../support/server.ts';

const asMultipart = { 'content-type': 'multipart/form-data; boundary=b', accept: 'text/html' };

const part = (disposition: string, content: string, more = '') =>
  `--b\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n${content}\r\n`;
const field = (name: string, value: string) => part(`name="${name}"`, value);
const file = (name: string, content: string) => part(`name="upload-file"; filename="${name}"`, content);

function post(server: TestServer, body: string | Buffer, headers: Record<string, string> = {}) {
  return server.send('POST', '/home/', { body, headers: { ...asMultipart, ...headers } });
}

test('a form from another origin changes nothing, with any action', async (t) => {
  const server = await startServer(t);
  const forms = [
    field('action', 'upload-file') + file('a', 'x'),
    field('action', 'create-folder') + field('new-folder', 'd'),
    field('action', 'delete-members') + field('selected-members', 'kept'),
  ];
  assert.equal((await server.put('/home/kept', 'x')).status, 201);
  for (const form of forms) {
    for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:${server.port + 1}`]) {
      const reply = await post(server, `${form}--b--\r\n`, { origin });
      assert.equal(reply.status, 400, origin);
      assert.match(reply.text, /<h1>/, 'a page shows the refusal');
    }
  }
  assert.deepEqual(readdirSync(server.home), ['kept']);
});

test('missing, nameless or contradictory fields and files are refused with a page, and nothing is stored', async (t) => {
  const server = await startServer(t);
  const upload = field('action', 'upload-file');
  const cases: [string, string, number][] = [
    ['a file field without filename is no file', upload + part('name="upload-file"', 'x'), 400],
    ['an empty filename', upload + file('', 'x'), 400],
    ['a filename of separators', upload + file('a/', 'x'), 400],
    ['a filename of dots', upload + file('..', 'x'), 400],
    ['a part without a name', `${upload}--b\r\nContent-Disposition: form-data; filename="a"\r\n\r\nx\r\n`, 400],
    ['a part without a disposition', `${upload}--b\r\nX-Other: 1\r\n\r\nx\r\n`, 400],
    ['two different names', field('action', 'create-folder') + field('new-folder', 'a') + field('new-folder', 'b'), 400],
    ['an empty name', field('action', 'create-folder') + field('new-folder', ' '), 400],
    ['an empty selection', field('action', 'delete-members') + field('selected-members', ''), 400],
    ['a reserved name', upload + file('__svc__', 'x'), 403],
    ['a name of 256 bytes', upload + file('x'.repeat(256), 'x'), 400],
    ['a NUL in the name', upload + file('a\0b', 'x'), 400],
  ];
  for (const [what, form, status] of cases) {
    const reply = await post(server, `${form}--b--\r\n`);
    assert.equal(reply.status, status, `${what}: ${reply.text.slice(0, 300)}`);
    assert.match(reply.text, /<h1>/, what);
    assert.deepEqual(readdirSync(server.home), [], what);
  }
  const same = `${field('action', 'create-folder')}${field('new-folder', 'd')}${field('new-folder', 'd')}--b--\r\n`;
  assert.equal((await post(server, same)).status, 303, 'the same value twice is not a contradiction');
});

test('wrong or missing boundaries are refused; content that looks like a boundary is stored', async (t) => {
  const server = await startServer(t);
  const form = `${field('action', 'upload-file')}${file('a', 'x')}--b--\r\n`;
  for (const type of [
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary=other',
    'multipart/mixed; boundary=b',
  ])
    assert.ok([400, 415].includes((await post(server, form, { 'content-type': type })).status), type);
  for (const length of [10, 60, 110, form.length - 5])
    assert.equal((await post(server, form.slice(0, length))).status, 400, `cut at ${length}`);
  assert.deepEqual(readdirSync(server.home), []);
  const tricky = 'line\r\n--c\r\n--\r\n-- b--\r\n';
  assert.equal((await post(server, `${field('action', 'upload-file')}${file('tricky', tricky)}--b--\r\nepilogue`)).status, 303);
  assert.equal(readFileSync(join(server.home, 'tricky'), 'utf8'), tricky);
});

test('a form that ends before its last boundary does nothing, even if its selection is cut inside a name', async (t) => {
  const server = await startServer(t);
  for (const name of ['kept', 'kept.txt']) assert.equal((await server.put(`/home/${name}`, 'x')).status, 201);
  const deletion = field('action', 'delete-members') + field('selected-members', 'kept.txt');
  const forms = {
    'a deletion, cut in a name': deletion.slice(0, -'.txt\r\n'.length),
    'a deletion, cut after a name': deletion,
    'a new folder': field('action', 'create-folder') + field('new-folder', 'd'),
    'a file': field('action', 'upload-file') + file('a', 'x'),
    'a file before its action': file('a', 'x') + field('action', 'upload-file'),
    'no part': 'garbage',
  };
  for (const [what, form] of Object.entries(forms)) {
    const reply = await post(server, form, { accept: 'application/json' });
    assert.equal(reply.status, 400, `${what}: ${reply.text}`);
    assert.match(reply.text, /The form is malformed: Unexpected end of multipart data/, what);
    assert.deepEqual(readdirSync(server.home).sort(), ['kept', 'kept.txt'], what);
  }
});

test('too long fields, headers and files, and too many fields, are refused, and nothing is kept', async (t) => {
  const server = await startServer(t, { service: { maximum_request_size: 3_000_000 } });
  const upload = field('action', 'upload-file');
  const cases: [string, string, number[]][] = [
    ['a field of a megabyte', field('action', 'x'.repeat(1_000_000)), [413]],
    ['a field name of a megabyte', part(`name="${'n'.repeat(1_000_000)}"`, 'x'), [400, 413]],
    ['a header of a megabyte', part('name="a"', 'x', `X-Long: ${'h'.repeat(1_000_000)}\r\n`), [400, 413]],
    ['too many fields', field('f', '').repeat(25_000), [413]],
    ['a file over the limit', upload + file('large', 'x'.repeat(9_000_000)), [413]],
  ];
  for (const [what, form, statuses] of cases) {
    const reply = await post(server, `${form}--b--\r\n`);
    assert.ok(statuses.includes(reply.status), `${what}: ${reply.status}`);
    assert.deepEqual(readdirSync(server.home), [], what);
  }
  assert.equal((await post(server, `${upload}${file('fine', 'x')}--b--\r\n`)).status, 303, 'the service continues');
});

test('names of 254 bytes or with bidirectional text are stored; spaces around a name are removed', async (t) => {
  const server = await startServer(t);
  const longest = 'ü'.repeat(127);
  const upload = `${field('action', 'upload-file')}${file(longest, 'x')}${file('a\u202efdp.exe', 'x')}${file('  spaced  ', 'x')}`;
  assert.equal((await post(server, Buffer.from(`${upload}--b--\r\n`))).status, 303);
  assert.deepEqual(readdirSync(server.home).sort(), ['a\u202efdp.exe', 'spaced', longest].sort());
  const page = await server.get('/home/', { headers: { accept: 'text/html' } });
  assert.match(page.text, /<bdi>a\[U\+202E\]fdp\.exe<\/bdi>/);
  const failed = await post(
    server,
    Buffer.from(`${field('action', 'delete-members')}${field('selected-members', 'gone\u202egpj.exe')}--b--\r\n`),
  );
  assert.equal(failed.status, 404);
  assert.match(failed.text, /gone\[U\+202E\]gpj\.exe/, 'messages show bidirectional characters as codes, too');
});
