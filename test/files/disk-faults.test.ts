import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { part } from '../support/draft-uploads.ts';
import { startOnFailingDisk } from '../support/failing-server.ts';
import { startInspector } from '../support/inspector.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';
import { trashOf } from '../support/trash.ts';

// Each test lets one system call fail, and checks that descriptors, hidden files, replies and events are correct after that.

const large = { mayFail: true };

test('an upload whose hidden file cannot be recorded, or cannot get the mode of the old file, leaves nothing behind', async (t) => {
  const { client, whileFailing, home, hidden, openedAtHome, stop } = await startOnFailingDisk(t);
  const refused = await whileFailing('writeSync uploads-under-way', () => client.put('/home/a', 'x', large));
  assert.equal(refused.status, 500, refused.text);
  assert.deepEqual(openedAtHome(), []);
  writeFileSync(join(home, 'a'), 'old');
  chmodSync(join(home, 'a'), 0o666);
  const failed = await whileFailing('fchmodSync .part', () => client.put('/home/a', 'new', large));
  assert.equal(failed.status, 500, failed.text);
  assert.deepEqual([hidden(), openedAtHome(), readFileSync(join(home, 'a'), 'utf8')], [[], [], 'old']);
  await stop();
});

test('a hidden file that cannot be removed after a failed upload is removed by the next start, and the event is emitted', async (t) => {
  const first = await startOnFailingDisk(t);
  const failed = await first.whileFailing('fsync .part\nunlinkSync .part', () => first.client.put('/home/a', 'x', large));
  assert.equal(failed.status, 500, failed.text);
  assert.deepEqual((await first.told()).get('/a'), ['40021', '40022']);
  const next = await startOnFailingDisk(t, first.folder);
  assert.deepEqual(next.hidden(), []);
  await next.stop();
});

test('if the record of hidden files cannot be truncated, uploads succeed nevertheless', async (t) => {
  const { client, whileFailing, home, openedAtHome, told } = await startOnFailingDisk(t);
  const deep = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(250)).join('/');
  const names = Array.from({ length: 30 }, (_, index) => `${deep}/${index}`);
  for (const name of names) mkdirSync(join(home, name), { recursive: true });
  await whileFailing('ftruncateSync uploads-under-way', async () => {
    for (const name of names) {
      const reply = await client.put(`/home/${name}/a`, 'x', large);
      assert.equal(reply.status, 201, reply.text);
    }
  });
  assert.deepEqual(openedAtHome(), []);
  for (const ids of (await told()).values()) assert.deepEqual(ids, ['40021', '40017']);
});

test('a file that was set aside, and that a start cannot move back, is moved back by the next start', async (t) => {
  const folder = temporaryFolder(t);
  const aside = join(folder, 'home', `.svc-${'0'.repeat(24)}.back`);
  mkdirSync(join(folder, 'home'));
  mkdirSync(join(folder, 'data'), { mode: 0o700 });
  writeFileSync(aside, 'kept');
  const record = join(folder, 'data', 'uploads-under-way');
  writeFileSync(record, `${JSON.stringify({ path: aside, original: join(folder, 'home', 'a') })}\n`);
  writeFileSync(join(folder, 'failing'), 'linkSync .back');
  await (await startOnFailingDisk(t, folder)).stop();
  assert.ok(existsSync(aside));
  writeFileSync(join(folder, 'failing'), '');
  await (await startOnFailingDisk(t, folder)).stop();
  assert.deepEqual([existsSync(aside), readFileSync(join(folder, 'home', 'a'), 'utf8')], [false, 'kept']);
  assert.equal(readFileSync(record, 'utf8'), '');
});

test('the record of a retention is removed if it cannot be synced', async (t) => {
  const { client, whileFailing, hidden, stop } = await startOnFailingDisk(t, temporaryFolder(t), { group: { retain: { days: 1 } } });
  const failed = await whileFailing('fsync .retain', () => client.put('/home/a', 'x', large));
  assert.equal(failed.status, 500, failed.text);
  assert.deepEqual(hidden(), []);
  await stop();
});

test('an item of the trash whose record cannot be removed is restored', async (t) => {
  const { client, whileFailing, home, told } = await startOnFailingDisk(t, temporaryFolder(t), { group: { trash: { days: 30 } } });
  await client.put('/home/a', 'x');
  assert.equal((await client.send('DELETE', '/home/a')).status, 204);
  const [item] = await trashOf(client);
  const reply = await whileFailing('unlinkSync .json', () => client.send('POST', `/home/__svc__/trash/${item?.id}/restore`, large));
  assert.ok(reply.status < 300, `${reply.status} ${reply.text}`);
  assert.equal(readFileSync(join(home, 'a'), 'utf8'), 'x');
  assert.deepEqual(await trashOf(client), []);
  assert.deepEqual((await told(['40101'])).get('/a'), ['40101']);
});

test('an item that cannot be put into the trash leaves no record, and an item that was ended counts as ended', async (t) => {
  const { client, whileFailing, home, told } = await startOnFailingDisk(t, temporaryFolder(t), { group: { trash: { days: 30 } } });
  for (const name of ['a', 'b']) await client.put(`/home/${name}`, 'x');
  assert.equal((await client.send('DELETE', '/home/a')).status, 204);
  const trash = join(home, '.svc-trash', readdirSync(join(home, '.svc-trash'))[0] ?? '');
  const failed = await whileFailing(`fsync ${trash}$`, () => client.send('DELETE', '/home/b', large));
  assert.equal(failed.status, 500, failed.text);
  assert.deepEqual([readdirSync(trash).length, existsSync(join(home, 'b'))], [2, true]);
  const [item] = await trashOf(client);
  const ended = await whileFailing('unlinkSync .person', () => client.send('DELETE', `/home/__svc__/trash/${item?.id}`, large));
  assert.equal(ended.status, 204, ended.text);
  assert.deepEqual(await trashOf(client), []);
  assert.deepEqual((await told(['40102'])).get('/a'), ['40102']);
});

test('a folder is moved or deleted although the records of uploads in it cannot be changed', async (t) => {
  const { client, whileFailing, home, openedAtHome, told } = await startOnFailingDisk(t);
  mkdirSync(join(home, 'd'));
  await client.put('/home/d/a', 'x', { headers: part });
  const fault = 'open /uploads/\nfdatasync /uploads/';
  const moved = await whileFailing(fault, () => client.send('MOVE', '/home/d/', { headers: { destination: '/home/e/' }, ...large }));
  assert.equal(moved.status, 201, moved.text);
  assert.deepEqual(openedAtHome(), []);
  await client.put('/home/e/b', 'x', { headers: part });
  const deleted = await whileFailing(fault, () => client.send('DELETE', '/home/e/', { ...large }));
  assert.equal(deleted.status, 204, deleted.text);
  assert.deepEqual(readdirSync(home), []);
  await told();
});

const waits = { answer_within: 0.2 };

async function inspected(t: Parameters<typeof startOnFailingDisk>[0]) {
  const inspector = await startInspector(t);
  const server = await startOnFailingDisk(t, temporaryFolder(t), {
    inspections: { check: { type: 'http', url: inspector.url, ...waits } },
    group: { inspections: [[], ['/d/*', 'check']] },
  });
  mkdirSync(join(server.home, 'd'));
  const held = async () => (await server.client.get('/home/__svc__/held/')).json<{ held: { id: string; state: string }[] }>().held;
  const inD = () => readdirSync(join(server.home, 'd')).map((name) => name.replace(/\..*\./, '.'));
  return { ...server, inspector, held, inD };
}

test('an upload is stored or held although an older held upload with its name cannot be removed', async (t) => {
  const { client, whileFailing, held, inD, inspector, told } = await inspected(t);
  assert.equal((await client.put('/home/d/a', 'odd')).status, 202);
  const stored = await whileFailing('unlinkSync .kept', () => client.put('/home/d/a', 'good', large));
  assert.equal(stored.status, 201, stored.text);
  assert.deepEqual(await held(), []);
  assert.equal((await client.put('/home/d/b', 'odd')).status, 202);
  const late = await whileFailing('unlinkSync .kept', () => client.put('/home/d/b', 'wait', large));
  assert.equal(late.status, 202, late.text);
  inspector.answerAll(204);
  await until('the inspected file is there', () => inD().includes('b'));
  const ids = await told();
  assert.deepEqual([ids.get('/d/a'), ids.get('/d/b')?.includes('40017')], [['40021', '40021', '40017'], true]);
});

test('if the hold of a moved file fails, the file gets its old name back', async (t) => {
  const { client, whileFailing, home, held, inD, hidden, told } = await inspected(t);
  const move = () => client.send('MOVE', '/home/a', { headers: { destination: '/home/d/a' }, ...large });
  writeFileSync(join(home, 'a'), 'odd');
  const failed = await whileFailing('fsync HOME/d$', move);
  assert.equal(failed.status, 500, failed.text);
  assert.deepEqual([await held(), inD(), readdirSync(home).sort()], [[], [], ['a', 'd']]);
  const reply = await whileFailing('unlinkSync .back', move);
  assert.equal(reply.status, 202, reply.text);
  assert.equal((await held()).length, 1);
  assert.equal(existsSync(join(home, 'a')), false);
  assert.deepEqual((await told(['40056'])).get('/a'), ['40056']);
  assert.equal(hidden().length, 1);
});

test('a held file whose content cannot be opened to move it back stays held, and leaves nothing open', async (t) => {
  const { client, whileFailing, home, held, openedAtHome, hidden, stop } = await inspected(t);
  writeFileSync(join(home, 'a'), 'odd');
  assert.equal((await client.send('MOVE', '/home/a', { headers: { destination: '/home/d/a' } })).status, 202);
  const [item] = await held();
  const withdraw = () => client.send('DELETE', `/home/__svc__/held/${item?.id}`, large);
  const failed = await whileFailing('openSync .kept', withdraw);
  assert.equal(failed.status, 500, failed.text);
  assert.deepEqual([openedAtHome(), hidden(), (await held()).length], [[], [], 1]);
  const unsynced = await whileFailing('fsync HOME$', withdraw);
  assert.deepEqual([unsynced.status, unsynced.text.includes('"durable":false'), (await held()).length], [500, true, 1], unsynced.text);
  rmSync(join(home, 'a'));
  assert.equal((await withdraw()).status, 204);
  assert.equal(readFileSync(join(home, 'a'), 'utf8'), 'odd');
  await stop();
});

test('a held upload can be ended although the event of its refusal could not be written', async (t) => {
  const { client, whileFailing, held, inspector, stop } = await inspected(t);
  assert.equal((await client.put('/home/d/a', 'wait')).status, 202);
  const [item] = await held();
  await whileFailing('fdatasync /journal/events', async () => {
    inspector.answerWaiting(422);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  });
  await new Promise((resolve) => setTimeout(resolve, 1100));
  const late = new Promise<never>((_, reject) => setTimeout(() => reject(new Error('The upload stays locked.')), 5000).unref());
  const reply = await Promise.race([late, client.send('DELETE', `/home/__svc__/held/${item?.id}`)]);
  assert.ok([204, 404].includes(reply.status), reply.text);
  await stop();
});

test('an upload of several requests that is held stays held although its record cannot be changed', async (t) => {
  const { client, inspector, folder, held, home, told } = await inspected(t);
  const begun = await client.put('/home/d/a', 'o', { headers: part });
  const url = String(begun.headers.location);
  inspector.decide = () => {
    writeFileSync(join(folder, 'failing'), 'open /uploads/');
    return { status: 202, body: { message: 'Somebody has to look.' } };
  };
  const headers = {
    'upload-draft-interop-version': '9',
    'upload-complete': '?1',
    'upload-offset': '1',
    'content-type': 'application/partial-upload',
  };
  const reply = await client.send('PATCH', url, { headers, body: 'dd', ...large });
  writeFileSync(join(folder, 'failing'), '');
  assert.equal(reply.status, 202, reply.text);
  const isComplete = async () => (await client.send('HEAD', url)).headers['upload-complete'] === '?1';
  for (let attempt = 0; attempt < 60 && !(await isComplete()); attempt++) await new Promise((resolve) => setTimeout(resolve, 250));
  assert.ok(await isComplete());
  assert.equal((await held()).length, 1);
  assert.equal(readdirSync(join(home, 'd')).length, 1);
  assert.deepEqual((await told()).get('/d/a'), ['40021']);
});
