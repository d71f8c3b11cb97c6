import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Retention } from '../../src/files/disk/retention.ts';
import { packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { completeDraft, fillTus, httpDoors } from '../support/doors.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { cheapHash } from '../support/passwords.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { testSession } from '../support/sftp-session.ts';
import { temporaryFolder } from '../support/temp.ts';

const { ok, permissionDenied } = statusCodes;
const retain = { days: 30 };

/** Starts a server whose account `alice` has `retain` of 30 days, and whose account `bob` has the same files and all permissions. */
async function startRetaining(t: TestContext): Promise<TestServer> {
  const server = await startServer(t, { accounts: { bob: { password: await cheapHash('bob-password') } }, account: { retain } });
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'spare'), 'mine');
  return server;
}

const contents = (home: string, folder: string) =>
  readdirSync(join(home, folder))
    .filter((name) => !name.startsWith('.svc-'))
    .map((name) => [name, readFileSync(join(home, folder, name), 'utf8')]);

test('with retain, files from any interface cannot be changed, moved or deleted; refusals say when the retention ends', async (t) => {
  const server = await startRetaining(t);
  for (const [index, door] of Object.keys(httpDoors)
    .filter((name) => name !== 'MOVE')
    .entries()) {
    const at = { folder: '/d', name: `f${index}` };
    const begun = await (httpDoors[door] as (typeof httpDoors)[string])(server, at);
    const location = String(begun.headers.location ?? '');
    if (door === 'draft, PUT') await completeDraft(server, location);
    else if (door.startsWith('tus')) await fillTus(server, location);
  }
  const before = contents(server.home, 'd');
  assert.equal(before.length, Object.keys(httpDoors).length - 1);
  const destination = '/home/other';
  const user = 'bob:bob-password';
  for (const [name] of before) {
    const url = `/home/d/${name}`;
    const replies = {
      PUT: await server.put(url, 'changed', { user }),
      DELETE: await server.send('DELETE', url, { user }),
      MOVE: await server.send('MOVE', url, { user, headers: { destination } }),
      'COPY onto it': await server.send('COPY', '/home/spare', { user, headers: { destination: url, overwrite: 'T' } }),
      'MOVE onto it': await server.send('MOVE', '/home/spare', { user, headers: { destination: url, overwrite: 'T' } }),
      'DELETE of its folder': await server.send('DELETE', '/home/d/', { user }),
      'MOVE of its folder': await server.send('MOVE', '/home/d/', { user, headers: { destination: '/home/e/' } }),
    };
    for (const [what, { status, text }] of Object.entries(replies)) {
      assert.equal(status, 403, `${what} of ${name}: ${text}`);
      assert.match(text, /retained until \d{4}-\d\d-\d\dT/, what);
    }
  }
  assert.deepEqual(contents(server.home, 'd'), before);
  assert.equal(readFileSync(join(server.home, 'spare'), 'utf8'), 'mine');
  const failed = (await server.events()).filter(({ id }) => ['40022', '40027', '40069'].includes(id));
  assert.ok(failed.some(({ data }) => /retained until/.test(String(data.details))));
  // The listing shows only the files, and the hidden record of a retained file cannot be requested.
  const record = readdirSync(join(server.home, 'd')).find((name) => name.endsWith('.retain')) as string;
  assert.equal((await server.get(`/home/d/${record}`)).status, 403);
  assert.equal((await server.send('DELETE', `/home/d/${record}`)).status, 403);
  assert.doesNotMatch((await server.get('/home/d/', { headers: { accept: 'application/json' } })).text, /\.svc-/);
});

test('a file stays retained until its time ends, even after a reload without the option, and after a restart', async (t) => {
  const data = temporaryFolder(t);
  const clock = new ManualClock();
  const folder = temporaryFolder(t);
  const file = join(folder, 'a');
  writeFileSync(file, 'x');
  const first = new Retention(data, clock);
  assert.equal(first.isUsed, false, 'nothing is looked up if nothing was ever retained');
  await first.retain(file, 30);
  first.configure(0);
  const second = new Retention(data, clock);
  for (const retention of [first, second]) assert.equal(retention.untilMs(file), clock.nowMs() + 30 * 86_400_000);
  clock.advance(30 * 86_400_000 - 1);
  assert.throws(() => second.requireFree(file), { code: 'retained' });
  clock.advance(1);
  second.requireFree(file);
  assert.deepEqual(readdirSync(folder), ['a'], 'the record is removed when it expires');
  clock.advance(400 * 86_400_000);
  assert.equal(second.isUsed, false);
});

test('a retention record does not apply to another file, even with the same inode number; a malformed record has no effect', async (t) => {
  const folder = temporaryFolder(t);
  const retention = new Retention(temporaryFolder(t), new ManualClock());
  retention.configure(1);
  const [file, other] = [join(folder, 'a'), join(folder, 'b')];
  writeFileSync(file, 'x');
  writeFileSync(other, 'x');
  await retention.retain(file, 1);
  assert.equal(retention.untilMs(other), undefined);
  const [record] = readdirSync(folder).filter((name) => name.endsWith('.retain')) as [string];
  const text = readFileSync(join(folder, record), 'utf8');
  writeFileSync(join(folder, record), text.replace(/"born":"\d+"/, '"born":"1"'));
  assert.equal(retention.untilMs(file), undefined);
  assert.equal(existsSync(join(folder, record)), false, 'the record of a removed file is removed');
  await retention.retain(file, 1);
  writeFileSync(join(folder, record), text.slice(0, 10));
  assert.equal(retention.untilMs(file), undefined);
  const release = await retention.retain(file, 1);
  release();
  assert.equal(retention.untilMs(file), undefined);
});

test('retain over SFTP: WRITE, SETSTAT, RENAME and REMOVE are denied; the retention begins when a file gets its final name', async (t) => {
  const { client, home } = testSession(t, {}, { retain });
  await client.put('a.filepart', 'new');
  assert.equal(await client.rename('a.filepart', 'a'), ok);
  await client.put('b', 'new');
  mkdirSync(join(home, 'd'));
  await client.put('d/c', 'new');
  for (const name of ['a', 'b', 'd/c']) {
    await assert.rejects(client.open(name, 2), { status: permissionDenied });
    await assert.rejects(client.open(name, 2 | 8 | 16), { status: permissionDenied });
    const codes = [
      await client.onPath(packetTypes.remove, name),
      await client.rename(name, 'x'),
      await client.status(packetTypes.setstat, (fields) => fields.text(name).attributes({ mode: 0o600 })),
      await client.status(packetTypes.setstat, (fields) => fields.text(name).attributes({ sizeBytes: 0 })),
    ];
    assert.deepEqual(codes, [permissionDenied, permissionDenied, permissionDenied, permissionDenied], name);
    assert.equal(readFileSync(join(home, name), 'utf8'), 'new');
  }
  assert.equal(await client.rename('d', 'e'), permissionDenied);
});

test('a refused upload retains nothing; a folder whose files were removed on the disk can be deleted', async (t) => {
  const server = await startServer(t, { account: { retain, permissions: [['allow-create-file', 'allow-delete-folder', 'allow-list']] } });
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'd/a'), 'old');
  const begun = await server.send('PUT', '/home/d/b', {
    headers: { 'upload-draft-interop-version': '9', 'upload-complete': '?0' },
    body: 'ne',
  });
  writeFileSync(join(server.home, 'd/b'), 'old');
  assert.equal((await completeDraft(server, String(begun.headers.location))).status, 403);
  assert.deepEqual(readdirSync(join(server.home, 'd')).sort(), ['a', 'b']);
  assert.equal((await server.put('/home/d/c', 'new')).status, 201);
  for (const name of ['a', 'b', 'c']) unlinkSync(join(server.home, 'd', name));
  assert.equal((await server.send('DELETE', '/home/d/')).status, 204);
});

test('with retain and on_name_taken: number, a second version of a file gets a new name', async (t) => {
  const server = await startServer(t, { account: { retain, on_name_taken: 'number' } });
  for (const text of ['one', 'two']) assert.equal((await server.put('/home/a.csv', text)).status, 201);
  assert.deepEqual(contents(server.home, '.'), [
    ['a (2).csv', 'two'],
    ['a.csv', 'one'],
  ]);
});
