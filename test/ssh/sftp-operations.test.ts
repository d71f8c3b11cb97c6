import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { testSession } from '../support/sftp-session.ts';

const { ok, noSuchFile, permissionDenied, failure, badMessage, unsupported } = statusCodes;
const { read, write, append, create, truncate, exclusive } = openFlags;

test('the reading of a file has events', async (t) => {
  const { client, home, events } = testSession(t);
  writeFileSync(join(home, 'a b'), 'hello, world');
  const handle = await client.open('/a b', read);
  assert.equal(String(await client.read(handle, 7, 100)), 'world');
  assert.equal(await client.read(handle, 12, 100), undefined);
  assert.equal(await client.close(handle), ok);
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.path, data.requested_path, data.mode, data.total_read]),
    [
      [30043, '/a b', '/a b', 'read', undefined],
      [30067, '/a b', '/a b', 'read', 5],
    ],
  );
  assert.equal(await client.close(handle), failure, 'a closed handle is refused');
});

test('an uploaded file appears at CLOSE, as a whole, and one event reports the upload', async (t) => {
  const { client, home, events } = testSession(t);
  const handle = await client.open('new', write | create | truncate, { mode: 0o640 });
  assert.equal(await client.write(handle, 5, 'world'), ok);
  assert.equal(await client.write(handle, 0, 'hello'), ok);
  assert.deepEqual(existsSync(join(home, 'new')), false);
  assert.equal(await client.close(handle), ok);
  assert.equal(readFileSync(join(home, 'new'), 'utf8'), 'helloworld');
  assert.equal(statSync(join(home, 'new')).mode & 0o777, 0o640 & ~process.umask());
  assert.deepEqual(readdirSync(home), ['new']);
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.path, data.requested_path, data.mode, data.total_write]),
    [
      [30043, '/new', 'new', 'write', undefined],
      [30068, '/new', 'new', 'write', 10],
    ],
  );
});

test('a lost connection leaves the old file, and nothing else', async (t) => {
  const session = testSession(t);
  writeFileSync(join(session.home, 'f'), 'old');
  const handle = await session.client.open('f', write | create | truncate);
  await session.client.write(handle, 0, 'new');
  session.lose();
  await session.served;
  assert.deepEqual(readdirSync(session.home), ['f']);
  assert.equal(readFileSync(join(session.home, 'f'), 'utf8'), 'old');
  assert.deepEqual(
    session.events.map(({ id, data }) => [id, data.details]),
    [
      [30043, undefined],
      [30042, 'The client went away.'],
    ],
  );
});

test('if the channel ends before CLOSE, the upload is lost', async (t) => {
  const { client, home, events, served } = testSession(t);
  await client.write(await client.open('f', write | create), 0, 'new');
  client.stream.end();
  await served;
  assert.deepEqual(readdirSync(home), []);
  assert.deepEqual(
    events.map(({ id }) => id),
    [30043, 30042],
  );
});

test('with partial_uploads: keep, an unfinished upload is kept up to its first gap', async (t) => {
  const { client, home, events, served } = testSession(t, { partial_uploads: 'keep' });
  const handle = await client.open('f', write | create | truncate);
  await client.write(handle, 0, 'begin');
  await client.write(handle, 10, 'end');
  client.stream.end();
  await served;
  assert.deepEqual(readdirSync(home), ['f.filepart']);
  assert.equal(readFileSync(join(home, 'f.filepart'), 'utf8'), 'begin');
  assert.equal(events.at(-1)?.data.kept_as, '/f.filepart');
});

test('an upload under a client’s temporary name is kept, resumed, and reported under its final name', async (t) => {
  const first = testSession(t);
  const handle = await first.client.open('f.filepart', write | create | truncate);
  await first.client.write(handle, 0, 'begin');
  first.lose();
  await first.served;
  assert.equal(readFileSync(join(first.home, 'f.filepart'), 'utf8'), 'begin');
  const { client, home, events } = testSession(t, {}, {}, first);
  const again = await client.open('f.filepart', write | append);
  assert.equal(await client.write(again, 0, ' and end'), ok);
  assert.equal(await client.close(again), ok);
  assert.equal(await client.rename('f.filepart', 'f'), ok);
  assert.equal(readFileSync(join(home, 'f'), 'utf8'), 'begin and end');
  assert.deepEqual(
    events.slice(2).map(({ id, data }) => [id, data.path, data.total_write, data.uploaded_as]),
    [
      [30043, '/f.filepart', undefined, undefined],
      [30017, '/f.filepart', 8, undefined],
      [30026, '/f.filepart', undefined, undefined],
      [30068, '/f', 13, '/f.filepart'],
    ],
  );
});

test('OPEN: each flag has its effect, or is refused where it does not fit', async (t) => {
  const { client, home } = testSession(t);
  writeFileSync(join(home, 'old'), 'old content');
  const refused = async (path: string, flags: number, status: number) =>
    assert.rejects(client.open(path, flags), (error: { status?: number }) => error.status === status);
  await refused('missing', read, noSuchFile);
  await refused('missing', write, noSuchFile);
  await refused('no/folder', write | create, noSuchFile);
  await refused('old', write | create | exclusive, failure);
  await refused('/', write | create, failure);
  await refused('/', read, failure);
  const appending = await client.open('old', write | append);
  await client.write(appending, 0, '!');
  await client.close(appending);
  assert.equal(readFileSync(join(home, 'old'), 'utf8'), 'old content!');
  const over = await client.open('old', write | create);
  await client.write(over, 4, 'CONTENT');
  await client.close(over);
  assert.equal(readFileSync(join(home, 'old'), 'utf8'), 'old CONTENT!');
  await client.close(await client.open('empty', create | exclusive));
  assert.equal(readFileSync(join(home, 'empty'), 'utf8'), '');
  await client.close(await client.open('old', truncate));
  assert.equal(readFileSync(join(home, 'old'), 'utf8'), '');
});

test('the session that uploads a file sees the new content, and other sessions see the old file', async (t) => {
  const own = testSession(t);
  const other = testSession(t, {}, {}, own);
  writeFileSync(join(own.home, 'f'), 'old');
  const handle = await own.client.open('f', read | write | create | truncate);
  await own.client.write(handle, 0, 'newer');
  assert.equal(((await own.client.stat('f')) as { sizeBytes: number }).sizeBytes, 5);
  assert.equal(((await other.client.stat('f')) as { sizeBytes: number }).sizeBytes, 3);
  const joined = await own.client.open('f', write | append);
  await own.client.write(joined, 0, '!');
  const reading = await own.client.open('f', read);
  assert.equal(String(await own.client.read(reading, 0, 10)), 'newer!');
  assert.equal(await own.client.close(handle), ok);
  assert.equal(await own.client.close(reading), ok);
  assert.equal(readFileSync(join(own.home, 'f'), 'utf8'), 'old');
  assert.equal(await own.client.close(joined), ok);
  assert.equal(readFileSync(join(own.home, 'f'), 'utf8'), 'newer!');
  assert.equal(own.events.filter(({ id }) => id === 30068).length, 1);
});

test('requests for a path wait until the CLOSE of its upload has ended', async (t) => {
  const { client, home } = testSession(t);
  const handle = await client.open('f', write | create | truncate);
  const [written, closed, attributes, renamed, listed] = await Promise.all([
    client.write(handle, 0, 'content'),
    client.close(handle),
    client.stat('f'),
    client.rename('f', 'g'),
    client.list('/'),
  ]);
  assert.deepEqual([written, closed, (attributes as { sizeBytes: number }).sizeBytes, renamed, listed], [ok, ok, 7, ok, ['g']]);
  assert.equal(readFileSync(join(home, 'g'), 'utf8'), 'content');
});

test('an upload can be renamed and removed while it runs', async (t) => {
  const { client, home, events } = testSession(t);
  const handle = await client.open('a', write | create | truncate);
  await client.write(handle, 0, 'one ');
  mkdirSync(join(home, 'd'));
  assert.equal(await client.rename('a', 'd/b'), ok);
  assert.equal(await client.stat('a'), noSuchFile);
  await client.write(handle, 4, 'two');
  assert.equal(await client.close(handle), ok);
  assert.equal(readFileSync(join(home, 'd/b'), 'utf8'), 'one two');
  const again = await client.open('d/b', write | create | truncate);
  assert.equal(await client.rename('d/b', 'c'), ok);
  assert.equal(readFileSync(join(home, 'c'), 'utf8'), 'one two', 'the old file is renamed with the upload');
  await client.write(again, 0, 'three');
  assert.equal(await client.close(again), ok);
  assert.equal(readFileSync(join(home, 'c'), 'utf8'), 'three');
  const gone = await client.open('gone', write | create);
  assert.equal(await client.onPath(packetTypes.remove, 'gone'), ok);
  assert.equal(await client.stat('gone'), noSuchFile);
  assert.equal(await client.close(gone), ok);
  assert.deepEqual(readdirSync(home).sort(), ['c', 'd']);
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.path]),
    [
      [30043, '/a'],
      [30026, '/a'],
      [30068, '/d/b'],
      [30043, '/d/b'],
      [30026, '/d/b'],
      [30068, '/c'],
      [30043, '/gone'],
      [30023, '/gone'],
      [30042, '/gone'],
    ],
  );
});

test('folders are created, listed and removed', async (t) => {
  const { client, home, events } = testSession(t);
  const mkdir = (path: string) => client.status(packetTypes.mkdir, (fields) => fields.text(path).attributes({ mode: 0o750 }));
  assert.equal(await mkdir('d'), ok);
  assert.equal(statSync(join(home, 'd')).mode & 0o777, 0o750 & ~process.umask());
  assert.equal(await mkdir('d'), failure);
  assert.equal(await mkdir('x/y'), noSuchFile);
  for (let index = 0; index < 300; index++) writeFileSync(join(home, 'd', `file ${index}`), '');
  assert.equal((await client.list('d')).length, 300);
  assert.equal(await client.onPath(packetTypes.rmdir, 'd'), failure, 'RMDIR does not remove a folder with members');
  assert.equal(await client.onPath(packetTypes.rmdir, 'd/file 1'), failure, 'RMDIR does not remove a file');
  assert.equal(await client.onPath(packetTypes.remove, 'd'), failure, 'REMOVE does not remove a folder');
  for (const name of readdirSync(join(home, 'd'))) assert.equal(await client.onPath(packetTypes.remove, `d/${name}`), ok);
  assert.equal(await client.onPath(packetTypes.rmdir, 'd'), ok);
  assert.equal(await client.onPath(packetTypes.rmdir, '/'), permissionDenied);
  await assert.rejects(client.opendir('d'));
  const ids = events.map(({ id }) => id);
  assert.deepEqual(ids.slice(0, 8), [30029, 30030, 30030, 30019, 30020, 30033, 30033, 30024]);
  assert.equal(ids.filter((id) => id === 30023).length, 300);
  assert.deepEqual(ids.slice(-3), [30032, 30033, 30021]);
});

test('RENAME needs a free target, posix-rename replaces a file', async (t) => {
  const { client, home, events } = testSession(t);
  writeFileSync(join(home, 'a'), 'a');
  writeFileSync(join(home, 'b'), 'b');
  const posixRename = (from: string, to: string) =>
    client.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text(from).text(to));
  assert.equal(await client.rename('a', 'b'), failure);
  assert.equal(await posixRename('a', 'b'), ok);
  assert.equal(readFileSync(join(home, 'b'), 'utf8'), 'a');
  assert.equal(await posixRename('b', 'b'), ok);
  assert.equal(await posixRename('a', 'c'), noSuchFile);
  mkdirSync(join(home, 'd'));
  assert.equal(await posixRename('b', 'd'), failure);
  assert.equal(await client.rename('d', 'e'), ok);
  assert.deepEqual(
    events.map(({ id }) => id),
    [30027, 30026, 30027, 30027, 30026],
  );
});

test('attributes: times and modes can be set, owners cannot', async (t) => {
  const { client, home, events } = testSession(t);
  writeFileSync(join(home, 'f'), 'content');
  const setstat = (attributes: Parameters<typeof client.open>[2] & object) =>
    client.status(packetTypes.setstat, (fields) => fields.text('f').attributes(attributes));
  assert.equal(await setstat({ times: { accessedS: 1_600_000_000, modifiedS: 1_500_000_000 }, mode: 0o4600 }), ok);
  const stats = statSync(join(home, 'f'));
  assert.deepEqual([stats.atimeMs, stats.mtimeMs, stats.mode & 0o7777], [1_600_000_000_000, 1_500_000_000_000, 0o600]);
  assert.equal(await setstat({ owner: { uid: stats.uid, gid: stats.gid } }), ok);
  assert.equal(await setstat({ owner: { uid: stats.uid + 1, gid: stats.gid } }), permissionDenied);
  assert.equal(await setstat({ sizeBytes: 4 }), ok);
  assert.equal(readFileSync(join(home, 'f'), 'utf8'), 'cont');
  const handle = await client.open('f', write);
  await client.write(handle, 4, '!');
  const times = { accessedS: 1, modifiedS: 2 };
  assert.equal(await client.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes({ times, mode: 0o644 })), ok);
  await client.close(handle);
  assert.deepEqual([statSync(join(home, 'f')).mtimeMs, statSync(join(home, 'f')).mode & 0o777], [2000, 0o644]);
  assert.deepEqual(
    events.map(({ id }) => id),
    [30038, 30038, 30039, 30043, 30068, 30043, 30068],
  );
});

test('paths: `..` stops at the root, names that are not UTF-8 are bad messages, and the session continues', async (t) => {
  const { client, home, events } = testSession(t);
  writeFileSync(join(home, 'f'), 'content');
  const realpath = async (path: string) => {
    const reply = await client.ask(packetTypes.realpath, (fields) => fields.text(path));
    return reply.kind === 'name' ? reply.items[0]?.name : reply;
  };
  assert.deepEqual(await Promise.all(['.', '', '/../..', 'a/../b/./c//', '/x/'].map(realpath)), ['/', '/', '/', '/b/c', '/x']);
  assert.equal(((await client.stat('../../../f')) as { sizeBytes: number }).sizeBytes, 7);
  assert.equal(await client.status(packetTypes.stat, (fields) => fields.bytes(Buffer.from([0x66, 0xff]))), badMessage);
  assert.equal(await client.status(packetTypes.stat, (fields) => fields.bytes(Buffer.from('f\0g'))), badMessage);
  assert.equal(await client.status(packetTypes.stat, (fields) => fields.uint32(500)), badMessage);
  assert.equal(await client.stat('a'.repeat(256)), failure);
  assert.equal(await client.status(99), unsupported);
  assert.equal(await client.status(packetTypes.extended, (fields) => fields.text('nothing@example.com')), unsupported);
  assert.equal(await client.onPath(packetTypes.readlink, 'f'), unsupported);
  assert.equal(((await client.stat('f')) as { sizeBytes: number }).sizeBytes, 7);
  assert.deepEqual(
    events.map(({ id }) => id),
    [30016],
  );
});

test('symlinks that lead outside count as absent', async (t) => {
  const { client, home } = testSession(t);
  symlinkSync('/etc/passwd', join(home, 'out'));
  symlinkSync('/etc', join(home, 'etc'));
  assert.equal(await client.stat('out'), noSuchFile);
  await assert.rejects(client.open('out', read));
  await assert.rejects(client.opendir('etc'));
  assert.deepEqual(await client.list('/'), []);
  assert.equal(await client.status(packetTypes.setstat, (fields) => fields.text('out').attributes({ mode: 0o777 })), noSuchFile);
});

test('a framing error ends the channel', async (t) => {
  const { client, served, events } = testSession(t);
  await client.extensions;
  client.stream.write(Buffer.alloc(4));
  await served;
  assert.deepEqual(
    events.map(({ id }) => id),
    [30016],
  );
});

test('permissions are checked before the disk is read', async (t) => {
  const permissions = { general: ['allow-list'], rules: [{ expression: '/in/*', permissions: ['allow-write'] }] };
  const { client, home, events } = testSession(t, {}, { permissions });
  mkdirSync(join(home, 'in'));
  writeFileSync(join(home, 'f'), 'content');
  const open = (path: string, flags: number) => client.open(path, flags).catch((error) => error.status);
  assert.equal(await open('f', read), permissionDenied);
  assert.equal(await open('missing', read), permissionDenied);
  assert.equal(await open('f', write | create), permissionDenied);
  assert.equal(await client.rename('f', 'g'), permissionDenied);
  assert.equal(await client.onPath(packetTypes.remove, 'f'), permissionDenied);
  assert.equal(await client.status(packetTypes.setstat, (fields) => fields.text('f').attributes({ mode: 0o600 })), permissionDenied);
  await client.put('in/g', 'content');
  const handle = await client.open('in/h', read | write | create);
  await client.write(handle, 0, 'secret');
  await assert.rejects(client.read(handle, 0, 10), /Permission denied/);
  const times = { accessedS: 1, modifiedS: 2 };
  assert.equal(
    await client.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes({ times })),
    ok,
    'allow-write is enough',
  );
  await client.close(handle);
  await assert.rejects(client.opendir('in/x'));
  assert.equal(statSync(join(home, 'in/h')).mtimeMs, 2000);
  assert.deepEqual(
    events.map(({ id }) => id),
    [30044, 30044, 30044, 30027, 30024, 30039, 30043, 30068, 30043, 30068, 30021],
  );
});

test('a handle for reading cannot write', async (t) => {
  const { client, home, events } = testSession(t);
  writeFileSync(join(home, 'f'), 'x');
  const handle = await client.open('f', read);
  assert.equal(
    await client.status(packetTypes.write, (fields) => fields.bytes(handle).uint64(0).bytes(Buffer.from('y'))),
    permissionDenied,
  );
  assert.equal(await client.close(handle), ok);
  assert.deepEqual(
    events.map(({ id }) => id),
    [30043, 30067],
  );
});

test('requests for attributes have events if configured', async (t) => {
  const quiet = testSession(t);
  await quiet.client.stat('/');
  assert.deepEqual(quiet.events, []);
  const { client, events, home } = testSession(t, { attribute_events: true });
  writeFileSync(join(home, 'f'), 'x');
  assert.equal(typeof (await client.stat('./f')), 'object');
  const handle = await client.open('f', openFlags.read);
  await client.ask(packetTypes.fstat, (fields) => fields.bytes(handle));
  assert.equal(await client.stat('/missing'), statusCodes.noSuchFile);
  await client.close(handle);
  const told = events.filter(({ id }) => id === 30035 || id === 30036);
  assert.deepEqual(
    told.map(({ id, data }) => [id, data.path, data.requested_path, data.details]),
    [
      [30035, '/f', './f', undefined],
      [30035, '/f', undefined, undefined],
      [30036, '/missing', '/missing', 'Path not found.'],
    ],
  );
});
