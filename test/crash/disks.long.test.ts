import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, writeConfig } from '../support/server.ts';
import { loginSftp } from '../support/sftp-client.ts';
import { assertChangesRefused, smallDisk } from '../support/small-disk.ts';
import { temporaryFolder } from '../support/temp.ts';

async function startUnder(t: TestContext, folder: string, under: readonly string[]): Promise<Client & { stop(): Promise<number | null> }> {
  await writeConfig(folder);
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder, under });
  const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const stop = async () => {
    server.child.kill('SIGTERM');
    return (await server.ended).code;
  };
  return Object.assign(client, { stop });
}

test('while a disk is read-only, changes are refused and reads work; afterwards all works again', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startServer(t, { group: { home_folder_path: disk } });
  assert.equal((await server.put('/home/a', 'old')).status, 201);
  mkdirSync(join(disk, 'd'));
  execFileSync('mount', ['-o', 'remount,ro', disk]);
  await assertChangesRefused(server, 403);
  assert.equal((await server.get('/home/a')).text, 'old');
  execFileSync('mount', ['-o', 'remount,rw', disk]);
  assert.deepEqual(readdirSync(disk).sort(), ['a', 'd']);
  assert.equal((await server.put('/home/a', 'new')).status, 201);
});

test('if no more files can be opened, nothing is lost, clients are asked to retry, and the service recovers', {
  timeout: 60_000,
}, async (t) => {
  if (!hasProgram(t, 'prlimit')) return;
  const folder = temporaryFolder(t);
  const server = await startUnder(t, folder, ['prlimit', '--nofile=80:80']);
  assert.equal((await server.put('/home/a', 'old')).status, 201);
  const sockets: Socket[] = [];
  let closed = 0;
  const statuses = new Set<number>();
  for (let index = 0; index < 100; index++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => closed++);
    socket.resume();
    sockets.push(socket);
    // With the last descriptors, a request may find none for its files, or none for its connection.
    if (index < 30) continue;
    const reply = await Promise.race([
      server.put('/home/a', `${index}`).catch(() => undefined),
      new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), 300)),
    ]);
    if (reply) statuses.add(reply.status);
    if (!reply) break;
  }
  for (const status of statuses) assert.ok([201, 503].includes(status), `${status}`);
  for (const socket of sockets) socket.destroy();
  await until('the service answers again', async () => (await server.put('/home/after', 'x').catch(() => undefined))?.status === 201);
  assert.match((await server.get('/home/a')).text, /^(old|\d+)$/);
  assert.deepEqual((await server.names('/home/')).sort(), ['a', 'after']);
  assert.equal(await server.stop(), 0);
  assert.deepEqual(readdirSync(join(folder, 'home')).sort(), ['a', 'after'], 'no temporary file is left behind');
});

test('on a slow disk an upload waits for its syncs, and listings do not wait', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'strace')) return;
  const folder = temporaryFolder(t);
  const slow = ['strace', '-D', '-f', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', 'inject=fsync,fdatasync:delay_enter=300000'];
  const server = await startUnder(t, folder, slow);
  const session = { headers: { authorization: `session ${await server.login()}`, accept: 'application/json' }, user: null };
  const startedMs = performance.now();
  const upload = server.put('/home/slow', Buffer.alloc(500_000, 's'), session).then((reply) => ({ reply, atMs: performance.now() }));
  await until('the upload is running', () => readdirSync(join(folder, 'home')).length > 0);
  let listings = 0;
  let isOver = false;
  void upload.finally(() => {
    isOver = true;
  });
  for (; !isOver; listings++) assert.equal((await server.get('/home/', session)).status, 200);
  const { reply, atMs } = await upload;
  assert.equal(reply.status, 201);
  assert.ok(atMs - startedMs >= 600, 'the upload is answered after the syncs of the file and its folder');
  assert.ok(listings >= 5, `${listings} listings meanwhile`);
  assert.equal(readFileSync(join(folder, 'home/slow'), 'latin1'), 's'.repeat(500_000));
});

test('files that several handles and connections close at once share the syncs of their folder and of the journal', {
  timeout: 60_000,
}, async (t) => {
  if (!hasProgram(t, 'strace')) return;
  const folder = temporaryFolder(t);
  await writeConfig(folder, { services: { sftp: { type: 'ssh', port: 0 } } });
  const trace = join(folder, 'trace');
  const inject = 'inject=fsync,fdatasync:delay_enter=50000';
  const under = ['strace', '-D', '-f', '-y', '-o', trace, '-e', 'trace=fsync,fdatasync', '-e', inject];
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder, under });
  const port = Number((await server.line(/listening on sftp:\/\/[^:]+:(\d+)/))[1]);
  const clients = await Promise.all([loginSftp(t, port), loginSftp(t, port)]);
  const files = clients.flatMap(({ sftp }, client) => Array.from({ length: 10 }, (_, index) => ({ sftp, name: `f${client}-${index}` })));
  const opened = await Promise.all(
    files.map(async ({ sftp, name }) => {
      const handle = await sftp.open(name, openFlags.write | openFlags.create | openFlags.truncate);
      assert.equal(await sftp.write(handle, 0, name), 0);
      return () => sftp.close(handle);
    }),
  );
  const before = readFileSync(trace, 'utf8').length;
  assert.deepEqual(new Set(await Promise.all(opened.map((close) => close()))), new Set([0]));
  const syncsOf = (file: RegExp) => readFileSync(trace, 'utf8').slice(before).match(file)?.length ?? 0;
  assert.equal(syncsOf(/fsync\(\d+<[^>]*\.part>/g), files.length, 'each file is synced');
  const [ofFolder, ofJournal] = [syncsOf(/fsync\(\d+<[^>]*\/home>/g), syncsOf(/fdatasync\(\d+<[^>]*\.ndjson>/g)];
  assert.ok(ofFolder >= 1 && ofFolder <= files.length / 2, `${ofFolder} syncs of the folder`);
  assert.ok(ofJournal >= 1 && ofJournal <= files.length / 2, `${ofJournal} syncs of the journal`);
  assert.equal(readdirSync(join(folder, 'home')).length, files.length);
});

/** Returns, in order and shortened, the system calls in a trace that matter for a power cut: `sync home`, `rename a to b`… */
function stepsOf(trace: string, folder: string): string[] {
  const short = (path: string) =>
    path
      .replace(/\/proc\/self\/fd\/\d+\//, '')
      .replace(`${folder}/`, '')
      .replace(/\.svc-[0-9a-f]+\.(?:part|back)/, 'PART')
      .replace(/\d{8}/, '');
  return trace.split('\n').flatMap((line) => {
    const sync = /(?:fsync|fdatasync)\(\d+<([^>]*)>/.exec(line)?.[1];
    if (sync !== undefined) return [`sync ${short(sync)}`];
    const rename = /rename(?:at2?)?\((?:AT_FDCWD[^,]*, )?"([^"]*)", (?:AT_FDCWD[^,]*, )?"([^"]*)"/.exec(line);
    if (rename) return [`rename ${short(rename[1] as string)} to ${short(rename[2] as string)}`];
    const link = /link(?:at)?\((?:AT_FDCWD[^,]*, )?"([^"]*)", (?:AT_FDCWD[^,]*, )?"([^"]*)"/.exec(line);
    if (link) return [`link ${short(link[1] as string)} to ${short(link[2] as string)}`];
    const other = /(mkdir|unlink|rmdir)(?:at)?\((?:AT_FDCWD[^,]*, )?"([^"]*)"/.exec(line);
    if (other) return [`${other[1]} ${short(other[2] as string)}`];
    const written = /(?:write|writev|pwrite64)\(\d+<([^>]*)>, (?:\[\{iov_base=)?"([^"]{0,20})/.exec(line);
    if (!written) return [];
    const [, file = '', text = ''] = written;
    if (/^(socket|TCP)/.test(file)) return text.startsWith('HTTP/1.1') ? [`answer ${text.slice(9, 12)}`] : [];
    return [`write ${short(file)}`];
  });
}

/** Asserts that the expected steps occur in this order. Other steps may come in between. */
function assertOrder(steps: readonly string[], expected: readonly string[]): void {
  let at = -1;
  for (const step of expected) {
    const next = steps.indexOf(step, at + 1);
    assert.ok(next > at, `"${step}" does not come in its turn in ${JSON.stringify(steps, null, 1)}`);
    at = next;
  }
}

test('each change is on disk before its reply, in an order that leaves old or new content after a power cut', {
  timeout: 60_000,
}, async (t) => {
  if (!hasProgram(t, 'strace')) return;
  const folder = temporaryFolder(t);
  const trace = join(folder, 'trace');
  const calls = 'trace=write,writev,pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,mkdir,unlink,rmdir';
  const server = await startUnder(t, folder, ['strace', '-D', '-f', '-y', '-s', '40', '-o', trace, '-e', calls]);
  writeFileSync(join(folder, 'home/a'), 'old');
  mkdirSync(join(folder, 'home/d/sub'), { recursive: true });
  const session = { headers: { authorization: `session ${await server.login()}` }, user: null };
  let seen = 0;
  const stepsDuring = async (method: string, target: string, options: { body?: string; headers?: Record<string, string> } = {}) => {
    const headers = { ...session.headers, ...options.headers };
    const reply = await server.send(method, target, { ...options, user: null, headers });
    assert.ok(reply.status < 300, `${method} ${target}: ${reply.text}`);
    let steps: string[] = [];
    await until('the trace has the answer', () => {
      steps = stepsOf(readFileSync(trace, 'utf8'), folder).slice(seen);
      return steps.includes(`answer ${reply.status}`);
    });
    seen += steps.length;
    return steps;
  };
  const journal = 'data/journal/events-.ndjson';
  const recorded = [`write ${journal}`, `sync ${journal}`];
  const put = await stepsDuring('PUT', '/home/a', { body: 'new' });
  assertOrder(put, [
    'write data/uploads-under-way',
    'write home/PART',
    'sync home/PART',
    'rename PART to a',
    'sync home',
    ...recorded,
    'answer 201',
  ]);
  assertOrder(await stepsDuring('MKCOL', '/home/made/'), ['mkdir made', 'sync home', ...recorded, 'answer 201']);
  const move = await stepsDuring('MOVE', '/home/a', { headers: { destination: '/home/d/b' } });
  assertOrder(move, ['rename a to b', 'sync home/d', 'sync home', ...recorded, 'answer 201']);
  const over = await stepsDuring('MOVE', '/home/d/', { headers: { destination: '/home/made/', overwrite: 'T' } });
  const note = ['write data/uploads-under-way', 'sync data/uploads-under-way'];
  assertOrder(over, [...note, 'rename made to PART', 'rename d to made', 'sync home', ...note, 'rmdir PART', ...recorded, 'answer 204']);
  const copy = await stepsDuring('COPY', '/home/made/b', { headers: { destination: '/home/c' } });
  assertOrder(copy, ['sync home/PART', 'link PART to c', 'sync home', ...recorded, 'answer 201']);
  assertOrder(await stepsDuring('DELETE', '/home/c'), ['unlink c', 'sync home', ...recorded, 'answer 204']);
  assert.equal(await server.stop(), 0);
});
