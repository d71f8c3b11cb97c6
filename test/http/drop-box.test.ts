import assert from 'node:assert/strict';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import type { Client, TestReply } from '../support/client.ts';
import { command, completeDraft, type DoorTarget, fillTus, form, httpDoors, httpFolderDoors, sftpDoors } from '../support/doors.ts';
import { startServer } from '../support/server.ts';
import { testSession } from '../support/sftp-session.ts';

const { read, write, append, create, truncate, exclusive } = openFlags;

/**
 * A taken and a free name in the drop box, both of the same length.
 * The size, times and mode of the existing file must stay secret.
 */
const taken = 'there';
const free = 'blank';

/** Restores everything: the drop box with its file, and files of both names outside. */
function plant(home: string): void {
  for (const name of ['drop', 'out']) rmSync(join(home, name), { recursive: true, force: true });
  for (const folder of ['drop', 'drop/sub', 'out']) mkdirSync(join(home, folder), { recursive: true });
  writeFileSync(join(home, 'drop', taken), 'x'.repeat(1234), { mode: 0o640 });
  utimesSync(join(home, 'drop', taken), 1_500_000_000, 1_500_000_000);
  for (const name of ['spare', taken, free]) writeFileSync(join(home, name), 'mine');
}

/** Returns the reply without the parts that differ between any two requests. */
function said({ status, headers, text }: TestReply, name: string): unknown {
  const changing = [
    'date',
    'x-request-id',
    'etag',
    'upload-expires',
    'upload-limit',
    'content-length',
    'lock-token',
    'set-cookie',
    'keep-alive',
  ];
  const own = Object.entries(headers).filter(([key]) => !changing.includes(key));
  const id = /[0-9a-f]{8}-[0-9a-f-]{27}|[\w-]{22,}|\d+ ?s\b/g;
  const plain = (value: unknown) => String(value).replaceAll(name, 'NAME').replace(id, 'ID');
  return { status, headers: own.map(([key, value]) => [key, plain(value)]).sort(), text: plain(text) };
}

type Door = (client: Client, at: DoorTarget) => Promise<TestReply>;

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const finder = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.6.0 (x86_64)' };
const early = 'Fri, 01 Jan 2010 00:00:00 GMT';
const late = 'Tue, 01 Jan 2030 00:00:00 GMT';
const conditions: Record<string, string>[] = [
  { 'if-match': '*' },
  { 'if-match': '"x"' },
  { 'if-none-match': '*' },
  { 'if-none-match': '"x"' },
  { 'if-unmodified-since': early },
  { 'if-unmodified-since': late },
  { 'if-modified-since': early },
  { if: '(["x"])' },
  { if: '(Not ["x"])' },
];

/** HTTP requests for a name in the drop box, in addition to those that create it. */
const plainDoors: Record<string, Door> = Object.fromEntries(
  ['GET', 'HEAD', 'PROPFIND', 'OPTIONS', 'PROPPATCH', 'DELETE', 'POST', 'MKCOL', 'PUT'].flatMap((method) =>
    [{}, ...conditions].flatMap((headers) =>
      ['', '/'].map((slash): [string, Door] => [
        `${method} ${slash} ${JSON.stringify(headers)}`,
        (client, { name }) =>
          client.send(method, `/home/drop/${name}${slash}`, { headers, body: method === 'PUT' && slash === '' ? 'new' : '' }),
      ]),
    ),
  ),
);

const otherDoors: Record<string, Door> = {
  'LOCK and UNLOCK': async (client, { name }) => {
    const url = `/home/drop/${name}`;
    const reply = await client.send('LOCK', url, { body: lockBody, headers: { ...finder, depth: '0' } });
    const token = String(reply.headers['lock-token']);
    assert.equal((await client.send('UNLOCK', url, { headers: { ...finder, 'lock-token': token } })).status, 204);
    return reply;
  },
  'LOCK under a condition': (client, { name }) =>
    client.send('LOCK', `/home/drop/${name}`, { body: lockBody, headers: { ...finder, depth: '0', 'if-none-match': '*' } }),
  'COPY, Overwrite: T': (client, at) => httpDoors.COPY?.(client, { ...at, headers: { overwrite: 'T' } }) as Promise<TestReply>,
  'COPY, Overwrite: F': (client, at) => httpDoors.COPY?.(client, { ...at, headers: { overwrite: 'F' } }) as Promise<TestReply>,
  'COPY from it': (client, { name }) => client.send('COPY', `/home/drop/${name}`, { headers: { destination: '/home/out/x' } }),
  'MOVE from it': (client, { name }) => client.send('MOVE', `/home/drop/${name}`, { headers: { destination: '/home/out/x' } }),
  'command copy with overwrite': (client, { name }) =>
    command(client, { folder: '/', name }, { command: 'copy', target: name, destination: '/home/drop', overwrite: true }),
  'command move': (client, { name }) =>
    command(client, { folder: '/', name }, { command: 'move', target: name, destination: '/home/drop' }),
  'command delete': (client, at) => command(client, at, { command: 'delete', target: at.name }),
  'command move away': (client, at) => command(client, at, { command: 'move', target: at.name, destination: '/home/out' }),
  'command copy away': (client, at) => command(client, at, { command: 'copy', target: at.name, destination: '/home/out' }),
  trigger: (client, at) => command(client, at, { command: 'Sign', target: at.name }),
  'form, delete': (client, at) => form(client, at, { action: 'delete-members', 'selected-members': at.name }),
  'form, question': (client, at) => form(client, at, { action: 'confirm-delete', 'selected-members': at.name }),
  'form, download': (client, at) => form(client, at, { action: 'download-members', 'selected-members': at.name }),
  'form, trigger': (client, at) => form(client, at, { action: 'Sign', 'selected-members': at.name }),
  search: (client, { name }) => client.send('GET', `/home/drop/?search=${name}`, { headers: { accept: 'application/x-ndjson' } }),
  'a condition on another resource': (client, { name }) =>
    client.send('PUT', '/home/out/x', { body: 'x', headers: { if: `<http://127.0.0.1:${client.port}/home/drop/${name}> (["x"])` } }),
  'draft, to its end': async (client, at) => {
    const begun = await (httpDoors['draft, PUT'] as Door)(client, at);
    return completeDraft(client, String(begun.headers.location));
  },
  'tus, to its end': async (client, at) => {
    const begun = await (httpDoors['tus, path'] as Door)(client, at);
    return fillTus(client, String(begun.headers.location));
  },
};

const conditionalUploads: Record<string, Door> = Object.fromEntries(
  ['draft, PUT', 'draft, POST', 'tus, path', 'tus, filename'].flatMap((door) =>
    conditions.map((headers): [string, Door] => [
      `${door} ${JSON.stringify(headers)}`,
      (client, at) => (httpDoors[door] as Door)(client, { ...at, headers }),
    ]),
  ),
);

async function dropBox(t: TestContext) {
  const permissions = [['allow-full-control'], ['/drop*', 'allow-write']];
  const service = { webdav_compatibility: true, triggers: ['Sign, success'] };
  const server = await startServer(t, { account: { permissions }, service, server: { uploads: { maximum_per_account: 1000 } } });
  plant(server.home);
  return server;
}

test('over every HTTP interface, a drop box answers the same whether or not a file of the name exists', async (t) => {
  const server = await dropBox(t);
  const doors: Record<string, Door> = { ...plainDoors, ...httpDoors, ...httpFolderDoors, ...otherDoors, ...conditionalUploads };
  const statuses: Record<string, number> = {};
  for (const [what, door] of Object.entries(doors)) {
    const answers: unknown[] = [];
    for (const name of [taken, free]) {
      plant(server.home);
      const reply = await door(server, { folder: '/drop', name });
      statuses[what] = reply.status;
      answers.push(said(reply, name));
    }
    assert.deepEqual(answers[0], answers[1], what);
  }
  // A conditional upload is refused, so it cannot overwrite a file that the client wanted to keep.
  for (const headers of conditions.slice(0, 6)) assert.equal(statuses[`PUT  ${JSON.stringify(headers)}`], 403);
  assert.equal(statuses['COPY, Overwrite: F'], 403);
  for (const what of ['PUT  {}', 'COPY', 'COPY, Overwrite: T', 'draft, PUT', 'LOCK and UNLOCK', 'tus, path'])
    assert.equal(statuses[what], 201, what);
});

const permissions = { general: ['allow-full-control'], rules: [{ expression: '/drop*', permissions: ['allow-write'] }] };

type Sftp = ReturnType<typeof testSession>['client'];

/** Returns the attributes of a handle for writing. Times since the beginning of the test are shown as `now`. */
async function fstat(sftp: Sftp, handle: Buffer): Promise<unknown> {
  const reply = await sftp.ask(packetTypes.fstat, (fields) => fields.bytes(handle));
  if (reply.kind !== 'attrs') return reply;
  const { times, ...rest } = reply.attributes;
  const isNow = times && [times.accessedS, times.modifiedS].every((timeS) => Math.abs(timeS - Date.now() / 1000) < 600);
  return { ...rest, times: isNow ? 'now' : times };
}

/** Makes all requests that a handle allows. */
async function probe(sftp: Sftp, path: string, flags: number): Promise<unknown[]> {
  const reply = await sftp.ask(packetTypes.open, (fields) => fields.text(path).uint32(flags).attributes({}));
  if (reply.kind !== 'handle') return [reply];
  const { handle } = reply;
  const other = await sftp.open('out/other', read | write | create);
  const ofHandle = (name: string, build: (fields: { bytes: (value: Buffer) => unknown }) => void) =>
    sftp.ask(packetTypes.extended, (fields) => {
      fields.text(name).bytes(handle);
      build(fields as never);
    });
  const setstat = (attributes: object) => sftp.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes(attributes));
  const results: unknown[] = [await fstat(sftp, handle)];
  results.push(await sftp.ask(packetTypes.read, (fields) => fields.bytes(handle).uint64(0).uint32(10)));
  results.push(await ofHandle('fstatvfs@openssh.com', () => {}));
  results.push(await ofHandle('check-file-handle', (fields) => (fields as never as Fields).text('sha256').uint64(0).uint64(0).uint32(0)));
  results.push(await ofHandle('copy-data', (fields) => (fields as never as Fields).uint64(0).uint64(0).bytes(other).uint64(0)));
  results.push(await sftp.write(handle, 0, 'abc'), await fstat(sftp, handle));
  const id = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  results.push(await setstat({ owner: id }), await setstat({ owner: { uid: id.uid + 1, gid: id.gid } }));
  results.push(await setstat({ mode: 0o604 }), await fstat(sftp, handle));
  results.push(await setstat({ sizeBytes: 2 }), await fstat(sftp, handle));
  results.push(await sftp.close(other), await sftp.close(handle));
  return results;
}

interface Fields {
  text(value: string): Fields;
  uint64(value: number): Fields;
  uint32(value: number): Fields;
  bytes(value: Buffer): Fields;
}

for (const [how, options] of [
  ['copied', {}],
  ['written in place', { copy_on_resume_limit: 10 }],
] as const)
  test(`over SFTP, a drop box answers the same whether or not a file of the name exists: old files are ${how}`, async (t) => {
    const { client, home } = testSession(t, options, { permissions });
    const extended = (name: string, path: string) => client.ask(packetTypes.extended, (fields) => fields.text(name).text(path));
    const setstat = (path: string, attributes: object) =>
      client.ask(packetTypes.setstat, (fields) => fields.text(path).attributes(attributes));
    const doors: Record<string, (path: string) => Promise<unknown>> = {
      STAT: (path) => client.ask(packetTypes.stat, (fields) => fields.text(path)),
      LSTAT: (path) => client.ask(packetTypes.lstat, (fields) => fields.text(path)),
      OPENDIR: (path) => client.ask(packetTypes.opendir, (fields) => fields.text(path)),
      REMOVE: (path) => client.onPath(packetTypes.remove, path),
      RMDIR: (path) => client.onPath(packetTypes.rmdir, path),
      'RENAME away': (path) => client.rename(path, 'out/x'),
      statvfs: (path) => extended('statvfs@openssh.com', path),
      'check-file-name': (path) => extended('check-file-name', path),
      'SETSTAT, size': (path) => setstat(path, { sizeBytes: 5 }),
      'SETSTAT, times': (path) => setstat(path, { times: { accessedS: 5, modifiedS: 5 } }),
      'SETSTAT, mode': (path) => setstat(path, { mode: 0o600 }),
      ...Object.fromEntries(Object.entries(sftpDoors).map(([what, door]) => [`to it: ${what}`, (path: string) => door(client, path)])),
      ...Object.fromEntries(
        [
          read,
          write,
          write | truncate,
          write | create,
          write | create | truncate,
          read | write | create,
          write | append | create,
          write | append,
        ].map((flags) => [`OPEN ${flags}`, (path: string) => probe(client, path, flags)]),
      ),
    };
    const told = (outcome: unknown, name: string): unknown =>
      JSON.parse(JSON.stringify(outcome, (key, value) => (key === 'id' ? undefined : value)).replaceAll(name, 'NAME'));
    for (const [what, door] of Object.entries(doors)) {
      const outcomes: unknown[] = [];
      for (const name of [taken, free]) {
        plant(home);
        outcomes.push(told(await door(`drop/${name}`), name));
      }
      assert.deepEqual(outcomes[0], outcomes[1], what);
    }
    // Without the right to list, a file that must already exist cannot be opened.
    await assert.rejects(client.open(`drop/${taken}`, write), { status: statusCodes.permissionDenied });
  });

test('a drop box does not hide folders; a request that demands a new file learns whether the name is taken', async (t) => {
  const server = await dropBox(t);
  assert.equal((await server.put('/home/drop/sub', 'x')).status, 409);
  assert.equal((await server.put('/home/drop/none/x', 'x')).status, 409);
  const copy = { command: 'copy', target: taken, destination: '/home/drop' };
  assert.equal((await command(server, { folder: '/', name: taken }, copy)).status, 422);
  const { client, home } = testSession(t, {}, { permissions });
  plant(home);
  // WinSCP opens every upload with these flags.
  await assert.rejects(client.open(`drop/${taken}`, write | create | exclusive), { status: statusCodes.failure });
  assert.equal(await client.close(await client.open(`drop/${free}`, write | create | exclusive)), 0);
});

test('where the folder can be listed, conditions work, because nothing needs to be hidden', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-full-control'], ['/drop/*', 'allow-write']] } });
  plant(server.home);
  const put = async (name: string) => (await server.put(`/home/drop/${name}`, 'x', { headers: { 'if-none-match': '*' } })).status;
  assert.deepEqual([await put(taken), await put(free)], [412, 201]);
});

test('the question before a deletion shows no size to an account that may delete but not list', async (t) => {
  const permissions = [['allow-full-control'], ['/drop*', 'allow-delete-file', 'allow-write']];
  const server = await startServer(t, { account: { permissions } });
  plant(server.home);
  const ask = (folder: string, name: string) =>
    server.send('POST', `/home/${folder}`, {
      body: `action=confirm-delete&selected-members=${name}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
    });
  const blind = await ask('drop/', taken);
  assert.equal(blind.status, 200);
  assert.ok(blind.text.includes(taken) && !/1[.,]2 ?kB|1[.,]?234|1[.,]2 ?KB/i.test(blind.text), blind.text);
  const sighted = await ask('', 'spare');
  assert.match(sighted.text, /4 bytes|4 B/);
});
