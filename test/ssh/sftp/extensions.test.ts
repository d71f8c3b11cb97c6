import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import type { FieldWriter } from '../../../src/ssh/sftp/packets/replies.ts';
import type { SftpReply } from '../../support/sftp-requests.ts';
import { type RawSftp, testSession } from '../../support/sftp-session.ts';

const { ok, eof, noSuchFile, permissionDenied, failure, badMessage, unsupported } = statusCodes;
const { read, write, create } = openFlags;

type Build = (fields: FieldWriter) => unknown;

function extensionSession(t: TestContext, ...rest: [Parameters<typeof testSession>[1]?, Parameters<typeof testSession>[2]?]) {
  const session = testSession(t, ...rest);
  const ask = (name: string, build: Build = () => {}): Promise<SftpReply> =>
    session.client.ask(packetTypes.extended, (fields) => build(fields.text(name)));
  /** Returns the code of the status reply; -1 for another reply. */
  const code = async (name: string, build?: Build) => {
    const reply = await ask(name, build);
    return reply.kind === 'status' ? reply.code : -1;
  };
  return { ...session, ask, code };
}

const notUtf8 = Buffer.from([0x66, 0xff]);
const foreignHandles = [Buffer.alloc(0), Buffer.from([0, 0, 1]), Buffer.from([0, 0, 0, 77]), Buffer.alloc(256)];

async function assertOddArgumentsRefused({ code }: ReturnType<typeof extensionSession>, name: string, of: 'path' | 'handle', rest: Build) {
  assert.equal(await code(name), badMessage, `${name} of nothing`);
  assert.equal(await code(name, (fields) => fields.uint32(2 ** 31)), badMessage, `${name}, cut off`);
  const odd = of === 'path' ? [notUtf8, Buffer.from('a\0b')] : foreignHandles;
  for (const bytes of odd)
    assert.equal(await code(name, (fields) => rest(fields.bytes(bytes))), of === 'path' ? badMessage : failure, name);
}

test('only supported extensions are announced, and all others are refused', async (t) => {
  const { client, code } = extensionSession(t);
  const announced = await client.extensions;
  for (const name of [
    'hardlink@openssh.com',
    'users-groups-by-id@openssh.com',
    'home-directory',
    'check-file-other',
    '',
    'x'.repeat(1000),
  ]) {
    assert.equal(announced.has(name), false);
    assert.equal(await code(name, (fields) => fields.text('/a').text('/b')), unsupported);
  }
  assert.equal(await code('posix-rename@openssh.com', (fields) => fields.text('/a')), badMessage, 'the second name is missing');
  assert.equal(await client.status(packetTypes.extended, (fields) => fields.bytes(notUtf8)), badMessage);
});

test('limits@openssh.com returns the limits, and they are exact', async (t) => {
  const { client, ask } = extensionSession(t, { maximum_handles: 3 });
  const reply = await ask('limits@openssh.com', (fields) => fields.text('more than was asked for'));
  assert.ok(reply.kind === 'extended');
  const [packet, reading, writing, handles] = [0, 0, 0, 0].map(() => reply.fields.uint64());
  assert.deepEqual([packet, reading, writing, handles], [256 * 1024, 255 * 1024, 255 * 1024, 3]);
  const handle = await client.open('f', read | write | create);
  assert.equal(await client.write(handle, 0, Buffer.alloc(writing as number, 'x')), ok);
  assert.equal((await client.read(handle, 0, 2 ** 32 - 1))?.length, reading, 'a longer READ gets this number of bytes');
  const more = [await client.open('g', write | create), await client.opendir('/')];
  await assert.rejects(client.open('f', read), /Too many files and folders are open/);
  assert.equal(await client.close(more[1] as Buffer), ok);
  await client.close(await client.open('f', read));
});

test('lsetstat@openssh.com sets times and mode if the account has the permission; it never changes owners', async (t) => {
  const session = extensionSession(t, {}, { permissions: { general: ['allow-list', 'allow-set-attributes'], rules: [] } });
  const { home, code, events } = session;
  writeFileSync(join(home, 'f'), 'content');
  const set = (path: string, attributes: Parameters<FieldWriter['attributes']>[0]) =>
    code('lsetstat@openssh.com', (fields) => fields.text(path).attributes(attributes));
  assert.equal(await set('f', { times: { accessedS: 1, modifiedS: 2 }, mode: 0o6640 }), ok);
  const { mtimeMs, mode, uid, gid } = statSync(join(home, 'f'));
  assert.deepEqual([mtimeMs, mode & 0o7777], [2000, 0o640]);
  assert.equal(await set('f', { owner: { uid: uid + 1, gid } }), permissionDenied);
  assert.equal(await set('f', { sizeBytes: 1 }), permissionDenied, 'there is no right to write');
  assert.equal(await set('missing', { mode: 0o600 }), noSuchFile);
  assert.equal(await code('lsetstat@openssh.com', (fields) => fields.text('f').uint32(4)), badMessage);
  await assertOddArgumentsRefused(session, 'lsetstat@openssh.com', 'path', (fields) => fields.attributes({}));
  const refused = extensionSession(t, {}, { permissions: { general: ['allow-list', 'allow-write'], rules: [] } });
  writeFileSync(join(refused.home, 'f'), 'content');
  assert.equal(await refused.code('lsetstat@openssh.com', (fields) => fields.text('f').attributes({ mode: 0o600 })), permissionDenied);
  assert.equal(readFileSync(join(home, 'f'), 'utf8'), 'content');
  assert.deepEqual(
    events.map(({ id }) => id),
    [30038, 30039, 30044, 30039, 30016],
  );
});

test('fsync@openssh.com works on open files, and fails if data was not written', async (t) => {
  const session = extensionSession(t, {}, { file_write_size: 10 });
  const { client, home, code } = session;
  writeFileSync(join(home, 'old'), 'old');
  const sync = (handle: Buffer) => code('fsync@openssh.com', (fields) => fields.bytes(handle));
  const [upload, reading, folder] = [await client.open('f', write | create), await client.open('old', read), await client.opendir('/')];
  await client.write(upload, 0, 'content');
  assert.deepEqual([await sync(upload), await sync(reading), await sync(folder)], [ok, ok, failure]);
  assert.equal(await client.write(upload, 8, 'too much'), failure);
  assert.deepEqual([await sync(upload), await client.close(upload), await sync(upload)], [failure, failure, failure]);
  await assertOddArgumentsRefused(session, 'fsync@openssh.com', 'handle', (fields) => fields);
});

test('expand-path@openssh.com: `~` is the root, and nothing lies above it', async (t) => {
  const session = extensionSession(t, {}, { permissions: { general: [], rules: [] } });
  const expand = async (path: string) => {
    const reply = await session.ask('expand-path@openssh.com', (fields) => fields.text(path));
    return reply.kind === 'name' ? reply.items.map(({ name }) => name) : reply;
  };
  const paths = { '~': '/', '~/a b': '/a b', '~alice/x/../y': '/y', '~/../../etc': '/etc', 'a/~': '/a/~', '': '/' };
  for (const [path, expanded] of Object.entries(paths)) assert.deepEqual(await expand(path), [expanded], path);
  assert.equal(await session.code('expand-path@openssh.com', (fields) => fields.text('x'.repeat(300))), failure);
  await assertOddArgumentsRefused(session, 'expand-path@openssh.com', 'path', (fields) => fields);
});

test('statvfs and fstatvfs work for folders, files and uploads; invisible items are refused', async (t) => {
  const rules = [{ expression: '/in/**', permissions: ['allow-write', 'allow-read'] as const }];
  const session = extensionSession(t, {}, { permissions: { general: [], rules } });
  const { client, home, ask, code } = session;
  mkdirSync(join(home, 'in/deep'), { recursive: true });
  writeFileSync(join(home, 'in/deep/f'), 'content');
  const blocks = (reply: SftpReply) => {
    assert.ok(reply.kind === 'extended', JSON.stringify(reply));
    const values = Array.from({ length: 11 }, () => reply.fields.uint64());
    assert.deepEqual([values[0], values[10]], [4096, 255]);
    return (values[2] as number) > 0 && (values[3] as number) <= (values[2] as number);
  };
  const upload = await client.open('/in/deep/new', write | create);
  const handles = [upload, await client.open('/in/deep/f', read)];
  for (const path of ['/in/deep', '/in/deep/f', '/in/deep/new'])
    assert.ok(blocks(await ask('statvfs@openssh.com', (fields) => fields.text(path))), path);
  for (const handle of handles) assert.ok(blocks(await ask('fstatvfs@openssh.com', (fields) => fields.bytes(handle))));
  const statvfs = (path: string) => code('statvfs@openssh.com', (fields) => fields.text(path));
  assert.deepEqual([await statvfs('/'), await statvfs('/other'), await statvfs('/in/deep/x')], [3, 3, 2]);
  await assertOddArgumentsRefused(session, 'statvfs@openssh.com', 'path', (fields) => fields);
  await assertOddArgumentsRefused(session, 'fstatvfs@openssh.com', 'handle', (fields) => fields);
});

interface Copy {
  from: Buffer;
  offset?: number;
  length?: number;
  to: Buffer;
  toOffset?: number;
}

const copyFields =
  ({ from, offset = 0, length = 0, to, toOffset = 0 }: Copy): Build =>
  (fields) =>
    fields.bytes(from).uint64(offset).uint64(length).bytes(to).uint64(toOffset);

async function textOf(client: RawSftp, handle: Buffer): Promise<string> {
  return String((await client.read(handle, 0, 1000)) ?? '');
}

test('copy-data copies any part of a file to any offset; a part that reaches beyond the end of the source is an error', async (t) => {
  const session = extensionSession(t);
  const { client, home, code, events } = session;
  const copy = (what: Copy) => code('copy-data', copyFields(what));
  writeFileSync(join(home, 'source'), '0123456789');
  const from = await client.open('source', read);
  const to = await client.open('target', read | write | create);
  assert.equal(await copy({ from, to }), ok);
  assert.equal(await copy({ from, offset: 2, length: 3, to, toOffset: 12 }), ok);
  assert.equal(await textOf(client, to), '0123456789\0\x00234');
  assert.equal(await copy({ from, offset: 8, length: 5, to }), eof, 'two bytes were copied before the end');
  assert.equal(await textOf(client, to), '8923456789\0\x00234');
  assert.deepEqual([await copy({ from, offset: 10, to }), await copy({ from, offset: 11, length: 1, to })], [ok, eof]);
  assert.equal(await copy({ from, offset: Number.MAX_SAFE_INTEGER, to }), ok, 'no data lies beyond the end');
  assert.equal(await copy({ from: to, to }), failure, 'a copy onto itself is refused');
  assert.equal(await copy({ from: to, to: from }), permissionDenied, 'the target is only open for reading');
  const folder = await client.opendir('/');
  assert.deepEqual([await copy({ from: folder, to }), await copy({ from, to: folder })], [failure, failure]);
  for (const handle of foreignHandles)
    assert.deepEqual([await copy({ from: handle, to }), await copy({ from, to: handle })], [failure, failure]);
  assert.equal(await code('copy-data', (fields) => fields.bytes(from).uint64(0).uint64(0).bytes(to)), badMessage);
  assert.equal(await textOf(client, to), '8923456789\0\x00234', 'refused requests changed nothing');
  assert.equal(await client.close(to), ok);
  assert.equal(readFileSync(join(home, 'target'), 'latin1'), '8923456789\0\x00234');
  assert.equal(events.filter(({ id }) => id === 30068).length, 1);
  const far = await client.open('far', write | create);
  assert.equal(await copy({ from, to: far, toOffset: Number.MAX_SAFE_INTEGER }), failure, 'no file is that long');
  assert.equal(await client.close(far), failure);
  assert.equal(await client.stat('far'), noSuchFile);
});

test('copy-data needs the permission to read the source, not only to write', async (t) => {
  const { client, code } = extensionSession(t, {}, { permissions: { general: ['allow-write'], rules: [] } });
  const [from, to] = [await client.open('a', read | write | create), await client.open('b', write | create)];
  await client.write(from, 0, 'secret');
  assert.equal(await code('copy-data', copyFields({ from, to })), permissionDenied);
});

test('check-file hashes files by handle and by name, in parts and in blocks; unreadable files are refused', async (t) => {
  const session = extensionSession(t);
  const { client, home, ask, code } = session;
  writeFileSync(join(home, 'f'), 'x'.repeat(1000));
  const handle = await client.open('f', read);
  interface Range {
    algorithms?: string;
    offset?: number;
    length?: number;
    block?: number;
  }
  const range =
    ({ algorithms = 'sha256', offset = 0, length = 0, block = 0 }: Range): Build =>
    (fields) =>
      fields.text(algorithms).uint64(offset).uint64(length).uint32(block);
  const hashes = async (name: string, build: Build) => {
    const reply = await ask(name, build);
    assert.ok(reply.kind === 'extended', JSON.stringify(reply));
    assert.equal(reply.fields.text(), 'check-file');
    return { algorithm: reply.fields.text(), hex: reply.fields.rest().toString('hex') };
  };
  const of = (bytes: number, algorithm = 'sha256') => createHash(algorithm).update('x'.repeat(bytes)).digest('hex');
  for (const name of ['check-file', 'check-file-handle'])
    assert.deepEqual(await hashes(name, (fields) => range({})(fields.bytes(handle))), { algorithm: 'sha256', hex: of(1000) });
  const byName = (options: Range) => hashes('check-file-name', (fields) => range(options)(fields.text('/f')));
  assert.deepEqual(await byName({ algorithms: 'crc32,md5,sha1' }), { algorithm: 'md5', hex: of(1000, 'md5') });
  assert.equal((await byName({ offset: 990, length: 1000 })).hex, of(10), 'a range that crosses the end is cut at the end');
  assert.equal((await byName({ offset: 5000 })).hex, of(0), 'a range behind the end is empty');
  assert.equal((await byName({ block: 256 })).hex, of(256).repeat(3) + of(232));
  assert.equal(await code('check-file', (fields) => range({ algorithms: 'crc32' })(fields.bytes(handle))), unsupported);
  assert.equal(await code('check-file', (fields) => range({ block: 255 })(fields.bytes(handle))), failure);
  truncateSync(join(home, 'f'), 4 * 1024 * 1024);
  assert.equal(await code('check-file', (fields) => range({ block: 256 })(fields.bytes(handle))), failure, 'too many blocks are refused');
  const folder = await client.opendir('/');
  assert.equal(await code('check-file', (fields) => range({})(fields.bytes(folder))), failure);
  assert.equal(await code('check-file-name', (fields) => range({})(fields.text('/missing'))), noSuchFile);
  await assertOddArgumentsRefused(session, 'check-file', 'handle', range({}));
  await assertOddArgumentsRefused(session, 'check-file-name', 'path', range({}));
  const blind = extensionSession(t, {}, { permissions: { general: ['allow-list', 'allow-write'], rules: [] } });
  writeFileSync(join(blind.home, 'f'), 'secret');
  const upload = await blind.client.open('f', read | write);
  assert.equal(await blind.code('check-file', (fields) => range({})(fields.bytes(upload))), permissionDenied);
  assert.equal(await blind.code('check-file-name', (fields) => range({})(fields.text('/f'))), permissionDenied);
});
