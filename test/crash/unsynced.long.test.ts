import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { type Running, start } from '../support/child.ts';
import { Client, type TestReply, type TestRequest } from '../support/client.ts';
import { uploads } from '../support/draft-uploads.ts';
import { readEvents } from '../support/journal.ts';
import { otherDisk } from '../support/other-disk.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { type TestConfig, writeConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import type { RawSftp } from '../support/sftp-session.ts';
import { temporaryFolder } from '../support/temp.ts';

const preload = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/planted-faults.cjs');

/** An event of a change: its ID, and its member `durable`. */
type Told = [id: number, durable: unknown];

interface Planted {
  client: Client;
  sshPort: number;
  home: string;
  folder: string;
  running: Running;
  /** Makes syncs of a folder fail. The default is the folder `home`. */
  plant(folder?: string): void;
  heal(folder?: string): void;
  /** Makes a change, and returns its events in the journal, without those in `quiet`. */
  toldOf(change: () => Promise<unknown>): Promise<Told[]>;
  events(): Promise<ServiceEvent[]>;
}

/** Events of beginnings, sessions and logins, which the tests ignore. */
const quiet = new Set([40021, 30043, 40061, 40062, 40063, 20137, 30011, 30012, 30014, 30015, 40007, 30019, 30020, 20156]);

async function startPlanted(t: TestContext, config: TestConfig = {}, folder = temporaryFolder(t)): Promise<Planted> {
  const services = { web: { type: 'http', port: 0, webdav_compatibility: true }, sftp: { type: 'ssh', port: 0 } };
  await writeConfig(folder, { services, ...config });
  const running = start(t, ['serve', '--log-format', 'json'], { cwd: folder, env: { NODE_OPTIONS: `--require ${preload}` } });
  const [, web = ''] = await running.line(/web listening on (\S+)\/\n/);
  const [, sshPort = ''] = await running.line(/listening on sftp:\/\/[^:]+:(\d+)/);
  const home = join(folder, 'home');
  const events = async () => {
    const all: ServiceEvent[] = [];
    const journal = journalFolder(join(folder, 'data'));
    for await (const { event } of readEvents(journal, undefined, (bad) => assert.fail(bad.reason))) all.push(event);
    return all;
  };
  return {
    client: new Client(web),
    sshPort: Number(sshPort),
    home,
    folder,
    running,
    plant: (of = home) => writeFileSync(join(of, 'planted-sync'), ''),
    heal: (of = home) => rmSync(join(of, 'planted-sync')),
    events,
    async toldOf(change) {
      const before = (await events()).length;
      await change();
      const told = (await events()).slice(before).filter(({ id }) => !quiet.has(Number(id)));
      for (const { id, data } of told) {
        if (id !== '40003') continue;
        assert.match(
          String(data.details),
          /^(Done, but not safe on disk: ((?:Error: )?EIO: i\/o error, fsync|The event journal could not be written\.)|The file system reported an error\.)$/,
        );
        if (data.reference !== undefined) assert.ok(running.stderr().includes(String(data.reference)), 'the log has the fault');
      }
      return told.map(({ id, data }) => [Number(id), data.durable]);
    },
  };
}

const json = { accept: 'application/json' };
const undone = /^Done, but not safe on disk\. Reference: [0-9a-f-]{36}$/;

/** Asserts that a client was told: done, but possibly lost after a power cut. */
function assertDone({ status, text }: TestReply, expected = 500): void {
  assert.equal(status, expected, text);
  const { errors } = JSON.parse(text) as { errors: { message: string; durable: unknown }[] };
  assert.equal(errors.length, 1, text);
  assert.match(String(errors[0]?.message), undone);
  assert.equal(errors[0]?.durable, false);
}

const fault: Told = [40003, undefined];

test('HTTP: a change that took effect is reported as done although its folder could not be synced', { timeout: 60_000 }, async (t) => {
  const { client, home, plant, heal, toldOf } = await startPlanted(t);
  const send = async (method: string, target: string, options: TestRequest = {}, status = 500) =>
    assertDone(await client.send(method, target, { ...options, headers: { ...json, ...options.headers }, mayFail: true }), status);
  const to = (target: string, overwrite = 'F') => ({ headers: { destination: `/home/${target}`, overwrite } });
  const content = (name: string) => readFileSync(join(home, name), 'utf8');
  writeFileSync(join(home, 'a'), 'old');
  mkdirSync(join(home, 'd/deep'), { recursive: true });
  writeFileSync(join(home, 'd/deep/x'), 'x');
  plant();

  assert.deepEqual(await toldOf(() => send('PUT', '/home/a', { body: 'new' })), [[40017, false], fault]);
  assert.equal(content('a'), 'new');
  assert.deepEqual(await toldOf(() => send('PUT', '/home/b', { body: 'b', headers: { 'if-none-match': '*' } })), [[40017, false], fault]);
  assert.equal(content('b'), 'b');
  assert.deepEqual(await toldOf(() => send('PUT', '/home/f1/')), [[40010, false], fault]);
  assert.deepEqual(await toldOf(() => send('MKCOL', '/home/f2')), [[40010, false], fault]);
  assert.deepEqual(await toldOf(() => send('COPY', '/home/a', to('c'))), [[40068, false], fault]);
  assert.equal(content('c'), 'new');
  assert.deepEqual(await toldOf(() => send('COPY', '/home/a', to('f1', 'T'))), [[40026, false], [40068, false], fault]);
  assert.equal(content('f1'), 'new');
  assert.deepEqual(await toldOf(() => send('MOVE', '/home/c', to('b', 'T'))), [[40055, false], fault]);
  assert.deepEqual([content('b'), existsSync(join(home, 'c'))], ['new', false]);
  assert.deepEqual(await toldOf(() => send('MOVE', '/home/d/', to('f2/', 'T'))), [[40026, false], [40065, false], fault]);
  assert.deepEqual([content('f2/deep/x'), existsSync(join(home, 'd'))], ['x', false]);
  assert.deepEqual(await toldOf(() => send('DELETE', '/home/b')), [[40012, false], fault]);
  assert.deepEqual(await toldOf(() => send('DELETE', '/home/f2/')), [[40026, false], fault]);
  const lock = `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`;
  assert.deepEqual(await toldOf(() => send('LOCK', '/home/locked', { body: lock, headers: { 'user-agent': 'Microsoft Office' } })), [
    [40017, false],
    fault,
  ]);
  assert.deepEqual(
    readdirSync(home)
      .filter((name) => !name.startsWith('.'))
      .sort(),
    ['a', 'f1', 'locked', 'planted-sync'],
  );

  const failed = await client.put('/home/missing/a', 'x', { headers: json });
  assert.deepEqual([failed.status, failed.text.includes('durable')], [409, false], 'the reply to a refused change has no member durable');
  heal();
  assert.deepEqual(await toldOf(() => client.put('/home/a', 'newer')), [[40017, undefined]]);
});

test('commands, forms and pages: each result says that the change was made, but is not safe on disk', { timeout: 60_000 }, async (t) => {
  const { client, home, plant, toldOf } = await startPlanted(t);
  for (const name of ['a', 'b', 'c']) writeFileSync(join(home, name), name);
  mkdirSync(join(home, 'to'));
  plant();
  const headers = { ...json, 'content-type': 'application/json' };
  const replies: TestReply[] = [];
  const commands = [
    { command: 'create-folder', target: 'made' },
    { command: 'delete', target: 'a' },
    { command: 'move', target: 'b', destination: 'to' },
    { command: 'copy', target: 'c', destination: 'to' },
  ];
  const told = await toldOf(async () => replies.push(await client.commands('/home/', commands, { headers })));
  // The folder `to`, which gets the copy, can be synced.
  assert.deepEqual(told, [[40010, false], fault, [40012, false], fault, [40055, false], fault, [40068, undefined]]);
  const { errors } = replies[0]?.json<{ errors: { target: string; message: string | null; durable?: false }[] }>() ?? { errors: [] };
  assert.equal(replies[0]?.status, 422);
  assert.deepEqual(
    errors.map(({ target, message, durable }) => [target, message === null ? null : undone.test(message), durable]),
    [
      ['made', true, false],
      ['a', true, false],
      ['b', true, false],
      ['c', null, undefined],
    ],
  );
  const lines = await client.commands('/home/', [{ command: 'delete', target: 'c' }], {
    headers: { ...headers, accept: 'application/x-ndjson' },
  });
  const { message, ...line } = JSON.parse(lines.text) as Record<string, unknown>;
  assert.match(String(message), undone);
  assert.deepEqual([lines.status, line], [200, { target: 'c', durable: false }]);

  const form = (fields: string, more: Record<string, string>) =>
    client.send('POST', '/home/', {
      body: fields,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...more },
      mayFail: true,
    });
  assertDone(await form('action=create-folder&new-folder=byform', json));
  assertDone(await form('action=delete-members&selected-members=made', json));
  const page = await form('action=create-folder&new-folder=bypage', { accept: 'text/html', 'accept-language': 'de' });
  assert.equal(page.status, 500);
  assert.match(page.text, /erledigt, aber nicht sicher auf dem Datenträger gespeichert/);
  assert.match(page.text, /Done, but not safe on disk\. Reference: /);
  const upload = [
    '--b\r\ncontent-disposition: form-data; name="action"\r\n\r\nupload-file\r\n',
    '--b\r\ncontent-disposition: form-data; name="upload-file"; filename="u"\r\n\r\nu\r\n--b--\r\n',
  ].join('');
  const uploading = () =>
    client
      .send('POST', '/home/', { body: upload, headers: { ...json, 'content-type': 'multipart/form-data; boundary=b' }, mayFail: true })
      .then(assertDone);
  assert.deepEqual(await toldOf(uploading), [[40017, false], fault]);
  assert.deepEqual(readdirSync(home).sort(), ['byform', 'bypage', 'planted-sync', 'to', 'u']);
  assert.deepEqual(readdirSync(join(home, 'to')).sort(), ['b', 'c']);
});

test('resumable uploads: the last reply says: done, but not safe on disk; the whole file is stored', { timeout: 60_000 }, async (t) => {
  const { client, home, plant, heal, toldOf } = await startPlanted(t);
  const tus = { 'tus-resumable': '1.0.0' };
  const metadata = `filename ${Buffer.from('t').toString('base64')}`;
  const begun = await client.send('POST', uploads, { headers: { ...tus, 'upload-length': '5', 'upload-metadata': metadata } });
  assert.equal(begun.status, 201, begun.text);
  const url = String(begun.headers.location);
  plant();
  const patch = { ...tus, ...json, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  assert.deepEqual(
    await toldOf(async () => assertDone(await client.send('PATCH', url, { body: 'hello', headers: patch, mayFail: true }))),
    [[40017, false], fault],
  );
  assert.equal(readFileSync(join(home, 't'), 'utf8'), 'hello');
  const head = await client.send('HEAD', url, { headers: tus });
  assert.deepEqual([head.status, head.headers['upload-offset']], [200, '5']);
  heal();
  const draft = { 'upload-draft-interop-version': '9', 'upload-complete': '?0' };
  const part = await client.put('/home/d', 'hel', { headers: draft });
  assert.equal(part.status, 201, part.text);
  plant();
  const end = { ...json, ...draft, 'upload-complete': '?1', 'upload-offset': '3', 'content-type': 'application/partial-upload' };
  const last = await client.send('PATCH', String(part.headers.location), { body: 'lo', headers: end, mayFail: true });
  assertDone(last);
  assert.equal(last.headers['upload-complete'], '?1');
  assert.equal(readFileSync(join(home, 'd'), 'utf8'), 'hello');
});

test('SFTP: the message of the status FAILURE says that the change was made, and no event reports a failure', {
  timeout: 60_000,
}, async (t) => {
  const { sshPort, home, plant, heal, toldOf } = await startPlanted(t);
  const { sftp } = await loginSftp(t, sshPort);
  const asks = async (asking: ReturnType<RawSftp['ask']>) => {
    const reply = await asking;
    assert.ok(reply.kind === 'status' && reply.code === statusCodes.failure, JSON.stringify(reply));
    assert.match(String(reply.message), undone);
  };
  const on = (type: number, path: string) => asks(sftp.ask(type, (fields) => fields.text(path)));
  const rename = (from: string, to: string) => asks(sftp.ask(packetTypes.rename, (fields) => fields.text(from).text(to)));
  const { write, create, truncate } = openFlags;
  const opened = async (name: string, text: string) => {
    const handle = await sftp.open(name, write | create | truncate);
    assert.equal(await sftp.write(handle, 0, text), statusCodes.ok);
    return handle;
  };
  const close = (handle: Buffer) => asks(sftp.ask(packetTypes.close, (fields) => fields.bytes(handle)));
  writeFileSync(join(home, 'a'), 'old');
  plant();
  const upload = async (name: string, text: string) => close(await opened(name, text));
  assert.deepEqual(await toldOf(() => upload('a', 'new')), [[30068, false], fault]);
  assert.equal(readFileSync(join(home, 'a'), 'utf8'), 'new');
  assert.deepEqual(await toldOf(() => upload('b.part', 'b')), [[30017, false], fault]);
  assert.deepEqual(await toldOf(() => rename('b.part', 'b')), [[30026, false], [30068, false], fault]);
  assert.deepEqual(await toldOf(() => asks(sftp.ask(packetTypes.mkdir, (fields) => fields.text('d').attributes({})))), [
    [30029, false],
    fault,
  ]);
  assert.deepEqual(await toldOf(() => on(packetTypes.rmdir, 'd')), [[30032, false], fault]);
  assert.deepEqual(await toldOf(() => on(packetTypes.remove, 'b')), [[30023, false], fault]);
  // If a file is renamed while an upload replaces it, the upload gets the new name.
  const handle = await opened('a', 'newest');
  assert.deepEqual(await toldOf(() => rename('a', 'moved')), [[30026, false], fault]);
  heal();
  assert.equal(await sftp.close(handle), statusCodes.ok);
  assert.deepEqual(readdirSync(home), ['moved']);
  assert.equal(readFileSync(join(home, 'moved'), 'utf8'), 'newest');
  plant();
  const removed = await opened('moved', 'x');
  assert.deepEqual(await toldOf(() => on(packetTypes.remove, 'moved')), [[30023, false], fault]);
  heal();
  await sftp.close(removed);
  assert.deepEqual(readdirSync(home), []);
});

test('SFTP: the kept part of an upload whose connection was lost may be lost in a power cut, and an event says so', {
  timeout: 60_000,
}, async (t) => {
  const services = { web: { type: 'http', port: 0 }, sftp: { type: 'ssh', port: 0, partial_uploads: 'keep' } };
  const { sshPort, home, plant, events } = await startPlanted(t, { services });
  const { sftp, client } = await loginSftp(t, sshPort);
  const handle = await sftp.open('a', openFlags.write | openFlags.create);
  assert.equal(await sftp.write(handle, 0, 'half'), statusCodes.ok);
  plant();
  client.end();
  await until('the loss is reported', async () => (await events()).some(({ id }) => id === '40003'));
  const lost = (await events()).find(({ id }) => id === '30042');
  assert.deepEqual([lost?.data.kept_as, lost?.data.durable], ['/a.filepart', false]);
  assert.equal(readFileSync(join(home, 'a.filepart'), 'utf8'), 'half');
});

test('a journal that cannot be synced: all protocols report the change as done, and no event reports a failure', {
  timeout: 60_000,
}, async (t) => {
  const { client, sshPort, home, toldOf, running } = await startPlanted(t);
  const { sftp } = await loginSftp(t, sshPort);
  const [name, path] = ['planted-lines', join(home, 'planted-lines')];
  writeFileSync(path, 'old');
  const put = async () => assertDone(await client.put(`/home/${name}`, 'new', { headers: json, mayFail: true }));
  assert.deepEqual(await toldOf(put), [[40017, undefined], fault], 'the journal continued in a new file');
  assert.equal(readFileSync(path, 'utf8'), 'new');
  const handle = await sftp.open(name, openFlags.write | openFlags.truncate);
  assert.equal(await sftp.write(handle, 0, 'newest'), statusCodes.ok);
  const close = async () => {
    const reply = await sftp.ask(packetTypes.close, (fields) => fields.bytes(handle));
    assert.ok(reply.kind === 'status' && reply.code === statusCodes.failure && undone.test(reply.message ?? ''), JSON.stringify(reply));
  };
  // After two failures within a second, the journal has no new file yet, so only the log names the fault.
  const [told, ...others] = await toldOf(close);
  assert.deepEqual(told, [30068, undefined]);
  assert.ok(others.every(([id]) => id === 40003));
  assert.equal(readFileSync(path, 'utf8'), 'newest');
  assert.match(running.stderr(), /the journal could not be synced/);
});

test('a changed password is valid although its file may be lost in a power cut', { timeout: 60_000 }, async (t) => {
  const { client, folder, plant, heal, toldOf } = await startPlanted(t, { group: { allow_own_password_change: true } });
  const session = await client.login();
  plant(join(folder, 'data'));
  const next = `${testPassword}-next`;
  const change = async () =>
    assertDone(
      await client.send('POST', '/home/__svc__/password-update', {
        user: null,
        mayFail: true,
        headers: { ...json, 'content-type': 'application/json', authorization: `session ${session}` },
        body: JSON.stringify({ current_password: testPassword, new_password: next }),
      }),
    );
  assert.deepEqual(await toldOf(change), [[20085, false], fault]);
  heal(join(folder, 'data'));
  assert.ok(await client.login('alice', next));
  assert.equal((await client.get('/home/', { headers: json })).status, 401, 'the old password is refused');
});

test('a created home folder exists although it may be lost in a power cut', { timeout: 60_000 }, async (t) => {
  const folder = temporaryFolder(t);
  const homes = join(folder, 'homes');
  mkdirSync(homes);
  const { client, plant, toldOf } = await startPlanted(
    t,
    { group: { home_folder_path: join(homes, 'alice'), create_home_folder: true } },
    folder,
  );
  plant(homes);
  assert.deepEqual(await toldOf(() => client.get('/home/', { headers: json })), [[20042, false], fault]);
  assert.deepEqual(readdirSync(join(homes, 'alice')), []);
});

test('if a move to another disk cannot sync the new name, the source stays as a hidden file until the next start', {
  timeout: 60_000,
}, async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const folder = temporaryFolder(t);
  const config = { group: { virtual_folders: [['/far', disk]] } };
  const { client, home, plant, heal, toldOf, running } = await startPlanted(t, config, folder);
  writeFileSync(join(home, 'a'), 'a');
  plant(disk);
  const move = async () =>
    assertDone(await client.send('MOVE', '/home/a', { headers: { ...json, destination: '/home/far/a' }, mayFail: true }));
  assert.deepEqual(await toldOf(move), [[40055, false], fault]);
  assert.equal(readFileSync(join(disk, 'a'), 'utf8'), 'a');
  const [aside = '', ...others] = readdirSync(home);
  assert.deepEqual(others, []);
  assert.equal(readFileSync(join(home, aside), 'utf8'), 'a', 'the source stays until the new name is safe');
  heal(disk);
  running.child.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
  const again = await startPlanted(t, config, folder);
  assert.deepEqual([readdirSync(home), readdirSync(disk)], [[], ['a']]);
  // A fault before the change took effect leaves everything as it was.
  mkdirSync(join(home, 'tree'));
  again.plant(join(home, 'tree'));
  const moveTree = async () => {
    const headers = { ...json, destination: '/home/far/tree/' };
    const reply = await again.client.send('MOVE', '/home/tree/', { headers, mayFail: true });
    assert.deepEqual([reply.status, reply.text.includes('durable')], [500, false]);
  };
  assert.deepEqual(await again.toldOf(moveTree), [[40056, undefined], fault]);
  assert.deepEqual([readdirSync(join(home, 'tree')), readdirSync(disk)], [['planted-sync'], ['a']]);
});
