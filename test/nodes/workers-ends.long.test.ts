import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isTemporaryName } from '../../src/files/disk/temporaries.ts';
import { program, start } from '../support/child.ts';
import { within } from '../support/client.ts';
import { assertStop } from '../support/node-stop.ts';
import { until } from '../support/receiver.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { writeConfig } from '../support/server.ts';
import { startSupervised } from '../support/supervised.ts';
import { temporaryFolder } from '../support/temp.ts';

test('a node that is killed during uploads and downloads is replaced; every answered change is in the journal once', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const svc = await startSupervised(t, 2);
  writeFileSync(join(svc.home, 'big'), Buffer.alloc(8_000_000, 'x'));
  const commandLines = svc.nodes().map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean));
  for (const words of commandLines) assert.deepEqual(words.slice(1), [...program.slice(1), '__node']);
  const session = await svc.login();
  const answered: string[] = [];
  let isOver = false;
  const upload = async (lane: number) => {
    for (let index = 0; !isOver; index++) {
      const name = `/u${lane}-${index}`;
      const status = await svc.put(`/home${name}`, Buffer.alloc(300_000, 'u'), within(session)).then(
        (reply) => reply.status,
        () => 0,
      );
      if (status === 201) answered.push(name);
      else if (status === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const download = async () => {
    while (!isOver) await svc.get('/home/big', within(session)).catch(() => {});
  };
  const load = [upload(1), upload(2), upload(3), download()];
  for (let round = 0; round < 2; round++) {
    const before = answered.length;
    await until('some uploads are confirmed', () => answered.length >= before + 5);
    await svc.kill([svc.nodes()[round % 2] as number]);
    await svc.ready(2);
  }
  isOver = true;
  await Promise.all(load);
  const used = await svc.everywhere(2, () => svc.get('/home/', within(session)));
  assert.deepEqual([...new Set(used.map(({ status }) => status))], [200], 'the session continues');
  assert.equal((svc.running.stderr().match(/a node ended and is replaced/g) ?? []).length, 2);
  await until('no temporary file is left', () => !readdirSync(svc.home).some(isTemporaryName));
  assert.deepEqual(
    readdirSync(join(svc.dataFolder, 'nodes')).toSorted(),
    ['1', '2'],
    'a new node uses the data folder of the node that it replaces',
  );
  assert.equal(await svc.stop(), 0);
  const uploads = (await svc.events()).filter(({ id }) => id === '40017').map(({ data }) => String(data.path));
  assert.deepEqual([...new Set(uploads)].toSorted(), uploads.toSorted(), 'no upload is in the journal twice');
  assert.deepEqual(
    answered.filter((path) => !uploads.includes(path)),
    [],
  );
  for (const path of answered) assert.equal(readFileSync(join(svc.home, path)).length, 300_000);
});

test('SIGTERM lets a running download finish', (t) => assertStop(t, 'term'));

test('a second signal ends all processes immediately', (t) => assertStop(t, 'twice'));

test('if nodes cannot start, the server ends with exit code 3 and one reason; users cannot run the internal command of nodes', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const taken = createServer().listen(0, '127.0.0.1');
  t.after(() => taken.close());
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const folder = temporaryFolder(t);
  const redis = await startRedis(t);
  await writeConfig(folder, { server: { state: { type: 'redis', url: redis.url } }, service: { port } });
  const { code, stderr } = await start(t, ['serve', '--workers', '2'], { cwd: folder }).ended;
  assert.equal(code, 3);
  assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}: the port is in use`));
  assert.equal(stderr.match(/the port is in use/g)?.length, 1, stderr);
  assert.equal(existsSync(join(folder, 'data/svc.pid')), false);
  const person = await start(t, ['__node'], { cwd: folder }).ended;
  assert.equal(person.code, 2);
});
