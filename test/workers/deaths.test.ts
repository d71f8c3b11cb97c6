import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isTemporaryName } from '../../src/files/disk/temporaries.ts';
import { program, start } from '../support/child.ts';
import { until } from '../support/receiver.ts';
import { testUser } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';
import { assertStop } from '../support/worker-stop.ts';
import { startFleet, within } from '../support/workers.ts';

test('a worker that is killed under uploads and downloads is replaced; every answered change is in the journal once', async (t) => {
  const fleet = await startFleet(t, 2);
  writeFileSync(join(fleet.home, 'big'), Buffer.alloc(8_000_000, 'x'));
  const commandLines = fleet.workers().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean));
  for (const words of commandLines) assert.deepEqual(words.slice(1), [...program.slice(1), '__worker']);
  const session = await fleet.login();
  const answered: string[] = [];
  let isOver = false;
  const upload = async (lane: number) => {
    for (let index = 0; !isOver; index++) {
      const name = `/u${lane}-${index}`;
      const status = await fleet.put(`/home${name}`, Buffer.alloc(300_000, 'u'), within(session)).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 201) answered.push(name);
      else if (status === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const download = async () => {
    while (!isOver) await fleet.get('/home/big', within(session)).catch(() => {});
  };
  const load = [upload(1), upload(2), upload(3), download()];
  for (let round = 0; round < 2; round++) {
    const before = answered.length;
    await until('some uploads', () => answered.length >= before + 5);
    await fleet.kill([fleet.workers()[round % 2] as number]);
    await fleet.ready(2);
  }
  isOver = true;
  await Promise.all(load);
  const used = await fleet.everywhere(2, () => fleet.get('/home/', within(session)));
  assert.deepEqual([...new Set(used.map(({ status }) => status))], [200], 'the session lives on');
  assert.equal((fleet.running.stderr().match(/a worker ended and is replaced/g) ?? []).length, 2);
  await until('no debris', () => !readdirSync(fleet.home).some(isTemporaryName));
  assert.deepEqual(
    readdirSync(fleet.dataFolder).filter((name) => name.startsWith('uploads-under-way-')).length,
    2,
    'the records of those that are gone are gone',
  );
  assert.equal(await fleet.stop(), 0);
  const uploads = (await fleet.events()).filter(({ id }) => id === '40017').map(({ data }) => String(data.path));
  assert.deepEqual([...new Set(uploads)].toSorted(), uploads.toSorted(), 'none twice');
  assert.deepEqual(
    answered.filter((path) => !uploads.includes(path)),
    [],
  );
  for (const path of answered) assert.equal(readFileSync(join(fleet.home, path)).length, 300_000);
});

test('SIGTERM lets a running download finish', (t) => assertStop(t, 'term'));

test('a second signal ends all at once', (t) => assertStop(t, 'twice'));

test('workers that cannot start end the server with 3 and one reason; the worker command is not for people', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const cwd = temporaryFolder(t);
  const { code, stderr } = await start(t, ['serve', '--workers', '2', '--port', String(port), '--user', testUser], { cwd }).ended;
  assert.equal(code, 3);
  assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use`));
  assert.equal(stderr.match(/the port is in use/g)?.length, 1, stderr);
  const person = await start(t, ['__worker'], { cwd }).ended;
  assert.equal(person.code, 2);
});
