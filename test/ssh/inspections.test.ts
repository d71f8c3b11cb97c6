import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspectionOptions } from '../../src/files/inspections/options.ts';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { sftpDoors } from '../support/doors.ts';
import { startInspector } from '../support/inspector.ts';
import { until } from '../support/receiver.ts';
import { type RawSftp, type TestSession, testFiles, testSession } from '../support/sftp-session.ts';

const { read, write, create, truncate, append } = openFlags;
const { ok, failure, permissionDenied } = statusCodes;

interface Options {
  answer?: 'accept' | 'refuse';
  publicError?: boolean;
  copyLimitBytes?: number;
  keepPartial?: boolean;
  withinS?: number;
}

/** Opens a session of an account whose `/d/*` is inspected. */
async function session(
  t: TestContext,
  { answer = 'accept', publicError = false, copyLimitBytes, keepPartial, withinS = 20 }: Options = {},
) {
  const inspector = await startInspector(t);
  const group = { inspections: { general: [], rules: [{ expression: '/d/*', inspections: ['check'] }] } };
  const options = {
    public_error: publicError,
    ...(copyLimitBytes === undefined ? {} : { copy_on_resume_limit: copyLimitBytes }),
    ...(keepPartial ? { partial_uploads: 'keep' as const } : {}),
  };
  const opened = testSession(t, options, group, testFiles(t, group));
  const check = inspectionOptions.parse({ type: 'http', url: inspector.url, answer_within: withinS, test_at_start: false });
  const { inspections } = opened.environment.held;
  inspections.prepare({ inspections: { check }, held: { days: 1, maximum_per_account: 100, answer } })();
  t.after(() => opened.environment.held.stop());
  mkdirSync(join(opened.home, 'd'));
  return { ...opened, inspector };
}

const visible = (folder: string) => readdirSync(folder).filter((name) => !name.startsWith('.svc-'));

async function put(sftp: RawSftp, path: string, content: string): Promise<{ code: number; message?: string }> {
  const handle = await sftp.open(path, write | create | truncate);
  assert.equal(await sftp.write(handle, 0, content), ok);
  return (await sftp.ask(packetTypes.close, (fields) => fields.bytes(handle))) as { code: number; message?: string };
}

/** For each request of `sftpDoors`: creates a file in `d` with the given content. @returns the status */
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

test('every SFTP request that creates a file is in the table', () => {
  assert.deepEqual(
    Object.keys(sftpDoors).filter((door) => !(door in doors) && door !== 'MKDIR'),
    [],
  );
});

for (const [door, send] of Object.entries(doors)) {
  test(`${door}: a file is accepted, refused, or held after a verdict or a failure`, async (t) => {
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

test('with `answer: refuse`, CLOSE and RENAME fail for a held file', async (t) => {
  const opened = await session(t, { answer: 'refuse' });
  for (const send of Object.values(doors)) assert.equal(await send(opened, 'held', 'odd'), failure);
  assert.equal((await opened.environment.held.list()).length, 1);
  assert.deepEqual(visible(join(opened.home, 'd')), []);
});

test('with public_error, the status contains the message of the inspection', async (t) => {
  const told = await session(t, { publicError: true });
  const reply = await put(told.client, 'd/name', 'bad');
  assert.deepEqual([reply.code, reply.message], [failure, 'Not this file.']);
  const quiet = await session(t);
  assert.match(String((await put(quiet.client, 'd/name', 'bad')).message), /An inspection refused the file/);
});

test('inspected files cannot be written in place or appended to; for other changes, the whole file is inspected', async (t) => {
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

test('a file that is open for writing in place is moved as a copy', async (t) => {
  const { client, home } = await session(t, { copyLimitBytes: 4 });
  writeFileSync(join(home, 'large'), 'fine, and large');
  const handle = await client.open('large', write);
  assert.equal(await client.rename('large', 'd/large'), ok);
  assert.equal(await client.write(handle, 0, 'bad'), permissionDenied);
  assert.equal(readFileSync(join(home, 'd/large'), 'utf8'), 'fine, and large');
});

test('partial uploads are not kept where files are inspected', async (t) => {
  const { client, home, lose, served } = await session(t, { keepPartial: true });
  await client.write(await client.open('d/part', write | create), 0, 'some');
  await client.write(await client.open('part', write | create), 0, 'some');
  lose();
  await served;
  assert.deepEqual(visible(join(home, 'd')), []);
  assert.deepEqual(visible(home).sort(), ['d', 'part.filepart']);
});

const nothing = statusCodes.noSuchFile;
const posixRename = (sftp: RawSftp, from: string, to: string) =>
  sftp.status(packetTypes.extended, (fields) => fields.text('posix-rename@openssh.com').text(from).text(to));

/** Returns the size from STAT, or the code of its status. */
async function sizeAt(sftp: RawSftp, path: string): Promise<number> {
  const reply = await sftp.ask(packetTypes.stat, (fields) => fields.text(path));
  return reply.kind === 'attrs' ? Number(reply.attributes.sizeBytes) : (reply as { code: number }).code;
}

test('a file with a temporary name is inspected once, under its final name, and again if it gets another final name', async (t) => {
  const { client, home, inspector } = await session(t);
  for (const [temporary, final] of [
    ['a.csv.filepart', 'a.csv'],
    ['.in.b.csv', 'b.csv'],
    ['c.csv.1a2b3c4d.partial', 'c.csv'],
  ] as const) {
    assert.equal((await put(client, `d/${temporary}`, 'fine')).code, ok);
    assert.equal(await client.rename(`d/${temporary}`, `d/${final}`), ok);
    const told = inspector.requests.splice(0).map(({ facts: { file } }) => [file.path, file.name, file.media_type]);
    assert.deepEqual(told, [[`/d/${final}`, final, 'text/csv; charset=utf-8']]);
  }
  inspector.decide = ({ facts: { file } }) => ({ status: String(file.name).endsWith('.exe') ? 422 : 204 });
  assert.equal((await put(client, 'd/x.csv.part', 'fine')).code, ok);
  assert.equal(await client.rename('d/x.csv.part', 'd/x.exe'), failure);
  assert.equal(await client.rename('d/x.csv.part', 'd/x.txt'), ok);
  assert.deepEqual(visible(join(home, 'd')).sort(), ['a.csv', 'b.csv', 'c.csv', 'x.txt']);
});

test('an account sees its held upload under the uploaded name, can set its times, and can rename it to the final name', async (t) => {
  const { client, home, environment, inspector } = await session(t);
  assert.equal((await put(client, 'd/x.filepart', 'odd')).code, ok);
  assert.equal(await sizeAt(client, 'd/x.filepart'), 3);
  const times = { accessedS: 1_600_000_000, modifiedS: 1_500_000_000 };
  assert.equal(await client.status(packetTypes.setstat, (fields) => fields.text('d/x.filepart').attributes({ times })), ok);
  assert.equal(await client.rename('d/x.filepart', 'elsewhere'), failure, 'a held upload stays in its folder');
  assert.equal(await client.rename('d/x.filepart', 'd/x'), ok);
  assert.equal(await sizeAt(client, 'd/x.filepart'), nothing);
  assert.equal(await sizeAt(client, 'd/x'), 3);
  await assert.rejects(client.open('d/x', read), { status: nothing });
  assert.equal(inspector.requests.length, 1, 'the file was already inspected under its final name');
  const [item] = await environment.held.list();
  assert.deepEqual([item?.path, item?.held.state], ['/d/x', 'held']);
  assert.deepEqual(visible(join(home, 'd')), []);
  await environment.held.release(String(item?.id), { administrator: 'olga' });
  assert.equal(readFileSync(join(home, 'd/x'), 'utf8'), 'odd');
  assert.equal(statSync(join(home, 'd/x')).mtimeMs, times.modifiedS * 1000);
});

test('a held upload that is renamed to a name without a verdict is inspected again, even while an inspection runs', async (t) => {
  const { client, home, environment, inspector } = await session(t);
  assert.equal((await put(client, 'd/x.json.filepart', 'odd')).code, ok);
  inspector.decide = ({ facts: { file } }) => (file.name === 'y.json' ? { status: 204 } : undefined);
  assert.equal(await client.rename('d/x.json.filepart', 'd/y.json'), ok);
  await until('the file is accepted', async () => visible(join(home, 'd')).length === 1 && (await environment.held.list()).length === 0);

  const late = await session(t, { withinS: 0.05 });
  assert.equal((await put(late.client, 'd/x.filepart', 'wait')).code, ok);
  assert.equal(await late.client.rename('d/x.filepart', 'd/y'), ok);
  late.inspector.decide = ({ facts: { file } }) => (file.name === 'y' ? { status: 422 } : undefined);
  late.inspector.answerWaiting(204);
  await until('the file is refused', async () => (await late.environment.held.list()).length === 0);
  assert.deepEqual(visible(join(late.home, 'd')), []);
});

test('renaming a held upload onto a taken name follows the rules for files', async (t) => {
  const { client, home, environment } = await session(t);
  writeFileSync(join(home, 'd/x'), 'old');
  assert.equal((await put(client, 'd/x.part', 'odd')).code, ok);
  assert.equal(await client.rename('d/x.part', 'd/x'), failure);
  assert.equal(await posixRename(client, 'd/x.part', 'd/x'), ok);
  assert.equal(readFileSync(join(home, 'd/x'), 'utf8'), 'old');
  const [item] = await environment.held.list();
  await environment.held.release(String(item?.id), { administrator: 'olga' });
  assert.equal(readFileSync(join(home, 'd/x'), 'utf8'), 'odd');
  // The release needs a free name, like the RENAME before it.
  assert.equal((await put(client, 'd/y.part', 'odd')).code, ok);
  assert.equal(await client.rename('d/y.part', 'd/y'), ok);
  writeFileSync(join(home, 'd/y'), 'other');
  const [next] = await environment.held.list();
  await assert.rejects(environment.held.release(String(next?.id), { administrator: 'olga' }), { code: 'destination-exists' });
});

test('with `answer: refuse`, a held file is invisible', async (t) => {
  const { client } = await session(t, { answer: 'refuse' });
  assert.equal((await put(client, 'd/x.filepart', 'odd')).code, failure);
  assert.equal(await sizeAt(client, 'd/x.filepart'), nothing);
  assert.equal(await client.rename('d/x.filepart', 'd/x'), nothing);
});
