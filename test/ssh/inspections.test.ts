import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspectionOptions } from '../../src/files/inspections/options.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { sftpDoors } from '../support/doors.ts';
import { startInspector } from '../support/inspector.ts';
import { type RawSftp, type TestSession, testFiles, testSession } from '../support/sftp-session.ts';

const { read, write, create, truncate, append } = openFlags;
const { ok, failure, permissionDenied } = statusCodes;

interface Options {
  answer?: 'accept' | 'refuse';
  publicError?: boolean;
  copyLimitBytes?: number;
  keepPartial?: boolean;
}

/** A session of an account that has `/d/*` inspected. */
async function session(t: TestContext, { answer = 'accept', publicError = false, copyLimitBytes, keepPartial }: Options = {}) {
  const inspector = await startInspector(t);
  const group = { inspections: { general: [], rules: [{ expression: '/d/*', inspections: ['check'] }] } };
  const options = {
    public_error: publicError,
    ...(copyLimitBytes === undefined ? {} : { copy_on_resume_limit: copyLimitBytes }),
    ...(keepPartial ? { partial_uploads: 'keep' as const } : {}),
  };
  const opened = testSession(t, options, group, testFiles(t, group));
  const check = inspectionOptions.parse({ type: 'http', url: inspector.url, test_at_start: false });
  const { inspections } = opened.environment.held;
  inspections.prepare({ inspections: { check }, held: { days: 1, maximum_per_account: 100, answer } })();
  t.after(() => opened.environment.held.stop());
  mkdirSync(join(opened.home, 'd'));
  return { ...opened, inspector };
}

const visible = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith('.svc-'));

/** Writes a file whole. @returns the status of CLOSE */
async function put(sftp: RawSftp, path: string, content: string): Promise<{ code: number; message?: string }> {
  const handle = await sftp.open(path, write | create | truncate);
  assert.equal(await sftp.write(handle, 0, content), ok);
  return (await sftp.ask(packetTypes.close, (fields) => fields.bytes(handle))) as { code: number; message?: string };
}

/** Doors of `sftpDoors` and the content that they bring. */
const doors: Record<string, (opened: TestSession, name: string, content: string) => Promise<number>> = {
  OPEN: async ({ client }, name, content) => (await put(client, `d/${name}`, content)).code,
  RENAME: ({ client, home }, name, content) => {
    writeFileSync(join(home, 'spare'), content);
    return client.rename('spare', `d/${name}`);
  },
  'posix-rename': ({ client, home }, name, content) => {
    writeFileSync(join(home, 'spare'), content);
    return client.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('spare').text(`d/${name}`));
  },
  'RENAME of an upload': async ({ client }, name, content) => {
    const handle = await client.open('fresh', write | create);
    assert.equal(await client.rename('fresh', `d/${name}`), ok);
    assert.equal(await client.write(handle, 0, content), ok);
    return client.close(handle);
  },
  'posix-rename of an upload': async ({ client }, name, content) => {
    const handle = await client.open('fresh', write | create);
    await client.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text('fresh').text(`d/${name}`));
    assert.equal(await client.write(handle, 0, content), ok);
    return client.close(handle);
  },
};

test('every door of SFTP that makes a file is in the table', () => {
  assert.deepEqual(
    Object.keys(sftpDoors).filter((door) => !(door in doors) && door !== 'MKDIR'),
    [],
  );
});

for (const [door, send] of Object.entries(doors)) {
  test(`${door}: accepted, refused, held and failed`, async (t) => {
    const opened = await session(t);
    assert.equal(await send(opened, 'fine', 'fine'), ok);
    assert.equal(readFileSync(join(opened.home, 'd/fine'), 'utf8'), 'fine');
    assert.equal(await send(opened, 'refused', 'bad'), failure);
    assert.equal(await send(opened, 'held', 'odd'), ok);
    assert.equal(await send(opened, 'failed', 'fail'), ok);
    assert.deepEqual(visible(join(opened.home, 'd')), ['fine']);
    const held = await opened.environment.held.list();
    assert.deepEqual(held.map(({ path, held }) => [path, held.reason]).sort(), [
      ['/d/failed', 'failure'],
      ['/d/held', 'verdict'],
    ]);
    for (const { id } of held) await opened.environment.held.release(id, { administrator: 'olga' });
    assert.deepEqual(visible(join(opened.home, 'd')).sort(), ['failed', 'fine', 'held']);
  });
}

test('with answer: refuse CLOSE and RENAME fail for what is held', async (t) => {
  const opened = await session(t, { answer: 'refuse' });
  for (const send of Object.values(doors)) assert.equal(await send(opened, 'held', 'odd'), failure);
  assert.equal((await opened.environment.held.list()).length, 1);
  assert.deepEqual(visible(join(opened.home, 'd')), []);
});

test('with public_error the message of the inspection is that of the status', async (t) => {
  const told = await session(t, { publicError: true });
  const reply = await put(told.client, 'd/name', 'bad');
  assert.deepEqual([reply.code, reply.message], [failure, 'Not this file.']);
  const quiet = await session(t);
  assert.match(String((await put(quiet.client, 'd/name', 'bad')).message), /An inspection refused the file/);
});

test('files are not written in place or appended to where they are inspected; other changes are judged whole', async (t) => {
  const { client, home } = await session(t, { copyLimitBytes: 4 });
  writeFileSync(join(home, 'd/large'), 'larger than that');
  writeFileSync(join(home, 'd/small'), 'old');
  const open = async (path: string, flags: number) => {
    const reply = await client.ask(packetTypes.open, (fields) => fields.text(path).uint32(flags).attributes({}));
    return reply.kind === 'handle' ? 'opened' : (reply as { code: number }).code;
  };
  assert.equal(await open('d/large', write), permissionDenied);
  assert.equal(await open('d/large', read | write), permissionDenied);
  assert.equal(await open('d/small', write | append), permissionDenied);
  assert.equal(await client.status(packetTypes.setstat, (fields) => fields.text('d/large').attributes({ sizeBytes: 5 })), permissionDenied);
  const handle = await client.open('d/small', write);
  await client.write(handle, 0, 'bad');
  assert.equal(await client.close(handle), failure);
  assert.equal(readFileSync(join(home, 'd/small'), 'utf8'), 'old');
});

test('a file that is open to be written in place is moved as a copy', async (t) => {
  const { client, home } = await session(t, { copyLimitBytes: 4 });
  writeFileSync(join(home, 'large'), 'fine, and large');
  const handle = await client.open('large', write);
  assert.equal(await client.rename('large', 'd/large'), ok);
  assert.equal(await client.write(handle, 0, 'bad'), permissionDenied);
  assert.equal(readFileSync(join(home, 'd/large'), 'utf8'), 'fine, and large');
});

test('the beginning of a file is not kept where files are inspected', async (t) => {
  const { client, home, lose, served } = await session(t, { keepPartial: true });
  await client.write(await client.open('d/part', write | create), 0, 'some');
  await client.write(await client.open('part', write | create), 0, 'some');
  lose();
  await served;
  assert.deepEqual(visible(join(home, 'd')), []);
  assert.deepEqual(visible(home).sort(), ['d', 'part.filepart']);
});
