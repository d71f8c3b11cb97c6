import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { isTemporaryName } from '../../src/files/disk/temporaries.ts';
import { executable, start } from '../support/child.ts';
import { until } from '../support/receiver.ts';
import { testUser } from '../support/secrets.ts';
import { isRunning, startFleet, within } from '../support/workers.ts';

test('a worker that is killed under uploads and downloads is replaced; every answered change is in the journal once', async (t) => {
  const fleet = await startFleet(t, 2);
  writeFileSync(join(fleet.home, 'big'), Buffer.alloc(8_000_000, 'x'));
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

test('SIGTERM lets a running download finish; Ctrl-C for the whole group does, too; a second signal ends all at once', async (t) => {
  for (const kind of ['term', 'group', 'twice'] as const) {
    const fleet = await startFleet(t, 2);
    writeFileSync(join(fleet.home, 'big'), Buffer.alloc(60_000_000));
    const pids = fleet.workers();
    const received = await new Promise<number>((resolve) => {
      get(`${fleet.url}/home/big`, { auth: testUser, agent: false }, (incoming) => {
        let bytes = 0;
        incoming.once('data', async (chunk: Buffer) => {
          bytes += chunk.length;
          incoming.pause();
          fleet.running.child.kill(kind === 'group' ? 'SIGINT' : 'SIGTERM');
          if (kind === 'group') for (const pid of pids) process.kill(pid, 'SIGINT');
          await until('it stops', () => fleet.running.stderr().includes('"stopping"'));
          if (kind === 'twice') fleet.running.child.kill('SIGTERM');
          incoming.on('data', (more: Buffer) => {
            bytes += more.length;
          });
          if (kind !== 'twice') incoming.resume();
        });
        incoming.on('error', () => {});
        incoming.on('close', () => resolve(bytes));
        if (kind === 'twice') void fleet.running.ended.then(() => incoming.resume());
      });
    });
    const { code } = await fleet.running.ended;
    if (kind === 'twice') assert.equal(code, 143);
    else assert.deepEqual([code, received], [0, 60_000_000], kind);
    await until('nobody is left', () => !pids.some(isRunning));
    if (kind === 'twice') continue;
    const ids = (await fleet.events()).map(({ id }) => Number(id));
    for (const id of [20001, 20076, 20181, 20002, 20078, 40039]) assert.equal(ids.filter((other) => other === id).length, 1, String(id));
    assert.equal(existsSync(join(fleet.dataFolder, 'svc.pid')), false);
  }
});

test('workers that cannot start end the server with 3 and one reason; the worker command is not for people', async (t) => {
  const fleet = await startFleet(t, 2);
  const other = start(t, ['serve', '--workers', '2', '--port', String(fleet.port), '--user', testUser], { cwd: fleet.home });
  const { code, stderr } = await other.ended;
  assert.equal(code, 3);
  assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${fleet.port}: the port is in use`));
  assert.equal(stderr.match(/the port is in use/g)?.length, 1, stderr);
  const person = await start(t, ['__worker'], { cwd: fleet.folder }).ended;
  assert.equal(person.code, 2);
  const commandLines = fleet.workers().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean));
  for (const words of commandLines) assert.deepEqual(words.slice(1), [executable, '__worker']);
});
