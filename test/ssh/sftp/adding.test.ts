import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import { sftpDoors } from '../../support/doors.ts';
import { testSession } from '../../support/sftp-session.ts';

const { ok, permissionDenied } = statusCodes;
const { read, write, append, create, truncate, exclusive } = openFlags;

const add = ['allow-create-file', 'allow-rename'];

/** Opens a session that may only add files in `/in`, and may do everything elsewhere. */
function addingSession(t: TestContext, group: Parameters<typeof testSession>[2] = {}, keywords = add) {
  const rules = [{ expression: '/in/*', permissions: keywords }];
  const session = testSession(t, {}, { permissions: { general: ['allow-full-control'], rules }, ...group });
  const plant = (isTaken: boolean) => {
    for (const name of ['in', 'spare', 'fresh']) rmSync(join(session.home, name), { recursive: true, force: true });
    mkdirSync(join(session.home, 'in'));
    writeFileSync(join(session.home, 'spare'), 'new');
    if (isTaken) writeFileSync(join(session.home, 'in/a.csv'), 'old');
  };
  const contents = () =>
    Object.fromEntries(readdirSync(join(session.home, 'in')).map((name) => [name, readFileSync(join(session.home, 'in', name), 'utf8')]));
  return { ...session, plant, contents };
}

test('allow-create-file: OPEN of an existing file for writing is denied with any flags', async (t) => {
  const { client, plant, contents } = addingSession(t);
  for (const flags of [
    write,
    write | create,
    write | create | truncate,
    write | truncate,
    append,
    append | create,
    read | write | create,
  ]) {
    for (const also of [0, exclusive]) {
      plant(true);
      const reply = await client.ask(packetTypes.open, (fields) =>
        fields
          .text('in/a.csv')
          .uint32(flags | also)
          .attributes({}),
      );
      assert.deepEqual([reply.kind, (reply as { code: number }).code], ['status', permissionDenied], String(flags | also));
      assert.deepEqual(contents(), { 'a.csv': 'old' });
    }
  }
  const cut = await client.status(packetTypes.setstat, (fields) => fields.text('in/a.csv').attributes({ sizeBytes: 0 }));
  assert.equal(cut, permissionDenied);
  assert.deepEqual(contents(), { 'a.csv': 'old' });
});

test('allow-create-file: all SFTP requests that create files can do so, and none changes an existing file', async (t) => {
  const { client, plant, contents } = addingSession(t);
  for (const [name, door] of Object.entries(sftpDoors)) {
    if (name === 'MKDIR') continue;
    plant(false);
    assert.equal(await door(client, 'in/a.csv'), ok, name);
    plant(true);
    assert.notEqual(await door(client, 'in/a.csv'), ok, name);
    assert.deepEqual(contents(), { 'a.csv': 'old' }, name);
  }
});

test('allow-create-file: a file that appears during an upload stays, and the CLOSE is denied', async (t) => {
  const { client, home, plant, contents, events } = addingSession(t);
  plant(false);
  const handle = await client.open('in/a.csv', write | create | truncate);
  await client.write(handle, 0, 'new');
  writeFileSync(join(home, 'in/a.csv'), 'old');
  assert.equal(await client.close(handle), permissionDenied);
  assert.deepEqual(contents(), { 'a.csv': 'old' });
  assert.match(String(events.findLast(({ data }) => data.details !== undefined)?.data.details), /taken/);
});

test('on_name_taken: number gives a free name at CLOSE and RENAME over SFTP; requests that continue a file are denied', async (t) => {
  const { client, plant, contents, events } = addingSession(t, { on_name_taken: 'number' });
  for (const name of ['OPEN', 'RENAME', 'posix-rename'] as const) {
    plant(true);
    assert.equal(await sftpDoors[name]?.(client, 'in/a.csv'), ok, name);
    assert.deepEqual(contents(), { 'a.csv': 'old', 'a (2).csv': 'new' }, name);
  }
  plant(true);
  const handle = await client.open('fresh', write | create);
  await client.write(handle, 0, 'new');
  assert.equal(await client.rename('fresh', 'in/a.csv'), ok);
  assert.equal(await client.close(handle), ok);
  assert.deepEqual(contents(), { 'a.csv': 'old', 'a (2).csv': 'new' });
  assert.deepEqual(
    events.filter(({ data }) => data.requested_path === '/in/a.csv').map(({ data }) => data.path),
    ['/in/a (2).csv', '/in/a (2).csv'],
  );
  for (const flags of [write, write | append, write | create, write | create | exclusive]) {
    const reply = await client.ask(packetTypes.open, (fields) => fields.text('in/a.csv').uint32(flags).attributes({}));
    assert.deepEqual([reply.kind, (reply as { code: number }).code], ['status', permissionDenied], String(flags));
  }
});

test('with on_name_taken: number, renaming or removing a running upload does not affect the existing file of that name', async (t) => {
  const { client, plant, contents } = addingSession(t, { on_name_taken: 'number' }, [...add, 'allow-delete-file']);
  // The permission to delete lets a rename replace an existing file, but does not let an upload overwrite it.
  plant(true);
  const renamed = await client.open('in/a.csv', write | create | truncate);
  await client.write(renamed, 0, 'new');
  assert.equal(await client.rename('in/a.csv', 'in/b.csv'), ok);
  assert.equal(await client.close(renamed), ok);
  assert.deepEqual(contents(), { 'a.csv': 'old', 'b.csv': 'new' });
  const removed = await client.open('in/a.csv', write | create | truncate);
  assert.equal(await client.onPath(packetTypes.remove, 'in/a.csv'), ok);
  await client.close(removed);
  assert.deepEqual(contents(), { 'a.csv': 'old', 'b.csv': 'new' });
});
