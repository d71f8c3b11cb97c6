import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { type FormPart, formBoundary, multipart } from '../support/multipart.ts';
import { until } from '../support/receiver.ts';
import { testUser } from '../support/secrets.ts';
import { startServer, type TestServer } from '../support/server.ts';

function post(server: TestServer, parts: FormPart[], headers: Record<string, string> = {}) {
  const { body, type } = multipart(parts);
  return server.send('POST', '/home/', { body, headers: { 'content-type': type, ...headers } });
}

test('after upload, new folder, trigger and deletion, 303 leads back to the folder, where a message is shown once', async (t) => {
  const server = await startServer(t, { service: { triggers: ['Approve, success'] } });
  const large = 'z'.repeat(3_000_000);
  const upload = await post(server, [
    ['action', 'upload-file'],
    ['upload-file', 'one', 'a.txt'],
    ['upload-file', large, 'b.bin'],
    ['upload-file', '', ''],
  ]);
  assert.equal(upload.status, 303, upload.text);
  assert.equal(upload.headers.location, '/home/');
  assert.equal(readFileSync(join(server.home, 'b.bin'), 'utf8'), large);
  const cookie = upload.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const page = await server.get('/home/', { headers: { accept: 'text/html', cookie } });
  assert.match(page.text, /2 files were uploaded\./);
  assert.match(page.headers['set-cookie']?.[0] ?? '', /Max-Age=0/);
  assert.equal(
    (
      await post(server, [
        ['action', 'create-folder'],
        ['new-folder', 'd'],
      ])
    ).status,
    303,
  );
  assert.equal(
    (
      await post(server, [
        ['action', 'Approve'],
        ['selected-members', 'a.txt'],
        ['selected-members', 'd'],
      ])
    ).status,
    303,
  );
  assert.deepEqual((await server.events()).find((event) => event.id === '40043')?.data.files, ['a.txt', 'd']);
  const zip = await post(server, [
    ['action', 'download-members'],
    ['selected-members', 'a.txt'],
    ['selected-members', 'd'],
  ]);
  assert.equal(zip.headers['content-type'], 'application/zip');
  assert.equal(Number(zip.headers['content-length']), zip.body.length);
  assert.ok(zip.body.includes('a.txt'));
  const urlencoded = {
    body: 'action=delete-members&selected-members=a.txt&selected-members=d',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
  assert.equal((await server.send('POST', '/home/', urlencoded)).status, 303);
  assert.deepEqual(readdirSync(server.home), ['b.bin']);
});

test('with Accept: application/json the results are JSON', async (t) => {
  const server = await startServer(t);
  const json = { accept: 'application/json' };
  assert.deepEqual(
    (
      await post(
        server,
        [
          ['action', 'upload-file'],
          ['upload-file', 'x', 'a'],
        ],
        json,
      )
    ).json(),
    { results: [{ target: 'a' }] },
  );
  const failed = await post(
    server,
    [
      ['action', 'delete-members'],
      ['selected-members', 'a'],
      ['selected-members', 'gone'],
    ],
    json,
  );
  assert.deepEqual(
    [failed.status, failed.json()],
    [
      422,
      {
        errors: [
          { target: 'a', message: null },
          { target: 'gone', message: 'Path not found.' },
        ],
      },
    ],
  );
});

test('paths in file names are not followed, and awkward names are shown harmlessly', async (t) => {
  const server = await startServer(t);
  const names = ['../../evil.txt', 'C:\\\\dir\\\\win.txt', '/etc/abs.txt'];
  for (const name of names)
    assert.equal(
      (
        await post(server, [
          ['action', 'upload-file'],
          ['upload-file', 'x', name],
        ])
      ).status,
      303,
      name,
    );
  assert.deepEqual(readdirSync(server.home).sort(), ['abs.txt', 'evil.txt', 'win.txt']);
  writeFileSync(join(server.home, '<img src=x onerror=alert(1)>'), '');
  writeFileSync(join(server.home, `"'&\u202egnp.exe`), '');
  const page = (await server.get('/home/', { headers: { accept: 'text/html' } })).text;
  assert.equal(page.includes('<img src=x'), false);
  assert.match(page, /&lt;img src=x onerror=alert\(1\)&gt;/);
  assert.match(page, /<bdi>&quot;&#39;&amp;\[U\+202E\]gnp\.exe<\/bdi>/);
});

test('invalid forms get a clear refusal and do nothing', async (t) => {
  const server = await startServer(t);
  const cases: [FormPart[], number][] = [
    [[], 400],
    [[['new-folder', 'd']], 400],
    [[['action', 'create-folder']], 400],
    [
      [
        ['action', 'explode'],
        ['selected-members', 'x'],
      ],
      400,
    ],
    [[['action', 'delete-members']], 400],
    [
      [
        ['action', 'create-folder'],
        ['action', 'delete-members'],
        ['new-folder', 'd'],
      ],
      400,
    ],
    [[['action', 'upload-file']], 400],
    [
      [
        ['action', 'create-folder'],
        ['new-folder', '..'],
      ],
      400,
    ],
    [
      [
        ['action', 'create-folder'],
        ['new-folder', 'a/b'],
      ],
      400,
    ],
    [
      [
        ['action', 'create-folder'],
        ['new-folder', '__svc__'],
      ],
      403,
    ],
    [
      [
        ['action', 'create-folder'],
        ['new-folder', 'x'.repeat(5000)],
      ],
      413,
    ],
    [
      [
        ['upload-file', 'x', 'early.txt'],
        ['action', 'create-folder'],
      ],
      400,
    ],
  ];
  for (const [parts, status] of cases) assert.equal((await post(server, parts)).status, status, JSON.stringify(parts).slice(0, 100));
  const raw = (body: string, type: string) => server.send('POST', '/home/', { body, headers: { 'content-type': type } });
  assert.equal((await raw('x', 'multipart/form-data')).status, 400);
  assert.equal((await raw('no boundary here', `multipart/form-data; boundary=${formBoundary}`)).status, 400);
  assert.equal(
    (
      await raw(
        multipart([
          ['action', 'upload-file'],
          ['upload-file', 'x', 'cut.txt'],
        ])
          .body.toString()
          .slice(0, -12),
        `multipart/form-data; boundary=${formBoundary}`,
      )
    ).status,
    400,
  );
  assert.deepEqual(readdirSync(server.home), []);
});

test('a file that precedes the field "action" is stored if the action is an upload', async (t) => {
  const server = await startServer(t);
  assert.equal(
    (
      await post(server, [
        ['upload-file', 'x', 'early.txt'],
        ['action', 'upload-file'],
      ])
    ).status,
    303,
  );
  assert.deepEqual(readdirSync(server.home), ['early.txt']);
});

test('a client that disappears during a form leaves nothing', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd'));
  const socket = connect(server.port, '127.0.0.1');
  const basic = Buffer.from(testUser).toString('base64');
  socket.write(
    `POST /home/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}\r\nContent-Type: multipart/form-data; boundary=${formBoundary}\r\nContent-Length: 9999999\r\n\r\n`,
  );
  socket.write(
    multipart([
      ['action', 'upload-file'],
      ['upload-file', 'x'.repeat(2_000_000), 'a'],
    ]).body.subarray(0, 1_500_000),
  );
  await until('the upload is running', () => readdirSync(server.home).length === 2);
  socket.destroy();
  await until('the failure is reported', async () => (await server.eventIds()).includes(40022));
  assert.deepEqual(readdirSync(server.home), ['d']);
});

test('files before the field "action" stay open until the field arrives, so their number is limited', async (t) => {
  const server = await startServer(t);
  const files = (count: number) => Array.from({ length: count }, (_, index): FormPart => ['upload-file', 'x', `f${index}`]);
  const socket = connect(server.port, '127.0.0.1');
  const basic = Buffer.from(testUser).toString('base64');
  let reply = '';
  socket.on('data', (chunk) => {
    reply += chunk;
  });
  socket.write(
    `POST /home/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}\r\nContent-Type: multipart/form-data; boundary=${formBoundary}\r\nContent-Length: 9999999\r\n\r\n`,
  );
  socket.write(multipart(files(101)).body.subarray(0, -10));
  await until('the form is refused', () => reply.startsWith('HTTP/1.1 400 '));
  socket.destroy();
  await until('no file is left', () => readdirSync(server.home).length === 0);
  assert.equal((await post(server, [['action', 'upload-file'], ...files(300)])).status, 303);
  assert.equal(readdirSync(server.home).length, 300);
});

test('a client that disappears while it sends several files does not end the service', async (t) => {
  const server = await startServer(t);
  for (let round = 0; round < 4; round++) {
    const socket = connect(server.port, '127.0.0.1');
    const basic = Buffer.from(testUser).toString('base64');
    const parts = Array.from({ length: 50 }, (_, index): FormPart => ['upload-file', 'x'.repeat(2000), `f${index}`]);
    socket.write(
      `POST /home/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${basic}\r\nContent-Type: multipart/form-data; boundary=${formBoundary}\r\nContent-Length: 9999999\r\n\r\n`,
    );
    socket.write(multipart([['action', 'upload-file'], ...parts]).body.subarray(0, -30));
    await until('the first file is there', () => readdirSync(server.home).length > 0);
    socket.destroy();
    await until('the failure is reported', async () => (await server.eventIds()).filter((id) => id === 40022).length > round);
    for (const name of readdirSync(server.home)) rmSync(join(server.home, name), { force: true });
  }
  assert.equal((await server.put('/home/after', 'x')).status, 201);
});
