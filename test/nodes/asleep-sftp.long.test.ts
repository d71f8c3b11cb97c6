import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { openFlags, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { readEvents } from '../support/journal.ts';
import { type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { freePort, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { loginSftp, type SftpLogin } from '../support/sftp-client.ts';
import { makeKey } from '../support/ssh.ts';
import { temporaryFolder } from '../support/temp.ts';

const { write, create, truncate } = openFlags;
const [firstBytes, wholeBytes] = [30_000, 60_000];

/** A file that the sleeping node has open, with the first half of its new content written. */
interface OpenHandle {
  name: string;
  login: SftpLogin;
  handle: Buffer;
  mine: Buffer;
  others: Buffer;
}

test('late writes and closes of a node that slept with SFTP handles open never tear the file of another node', {
  timeout: 120_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const home = join(folder, 'home');
  mkdirSync(home);
  const old = randomBytes(wholeBytes);
  for (const name of ['replaced', 'resumed', 'in-place']) writeFileSync(join(home, name), old);
  const hostKey = makeKey(folder, 'host_key');
  const ports = new Map<string, number>();
  const ssh = async (name: string, limit: number) => {
    const port = await freePort();
    ports.set(`${name}-${limit}`, port);
    return { type: 'ssh', port, host_key_paths: [hostKey], copy_on_resume_limit: limit };
  };
  const nodes = await startNodes(t, folder, 'http://127.0.0.1:9/', [redis.url, redis.url], {
    event_handlers: {},
    services: async (name) => ({ copying: await ssh(name, 1_000_000), writing: await ssh(name, 0) }),
  });
  const [sleeper, other] = nodes as [NodeProcess, NodeProcess];
  const loginTo = (node: NodeProcess, limit: number) => loginSftp(t, ports.get(`${node.name}-${limit}`) as number);
  const begin = async (name: string, flags: number, limit = 1_000_000): Promise<OpenHandle> => {
    const login = await loginTo(sleeper, limit);
    const [mine, others] = [randomBytes(wholeBytes), randomBytes(wholeBytes)];
    const handle = await login.sftp.open(name, flags);
    assert.equal(await login.sftp.write(handle, 0, mine.subarray(0, firstBytes)), statusCodes.ok);
    return { name, login, handle, mine, others };
  };
  const open = {
    created: await begin('created', write | create | truncate),
    replaced: await begin('replaced', write | create | truncate),
    resumed: await begin('resumed', write),
    inPlace: await begin('in-place', write, 0),
    lost: await begin('lost', write | create | truncate),
  };
  const there = await loginTo(other, 1_000_000);
  sleeper.running.child.kill('SIGSTOP');
  for (const { name, others } of Object.values(open)) await there.sftp.put(name, others);
  open.lost.login.client.end();
  const late = Object.values(open).filter(({ name }) => name !== 'lost');
  const writes = late.map(({ login, handle, mine }) => login.sftp.write(handle, firstBytes, mine.subarray(firstBytes)));
  sleeper.running.child.kill('SIGCONT');
  assert.deepEqual(
    await Promise.all(writes),
    late.map(() => statusCodes.ok),
  );
  for (const { name, others } of Object.values(open)) assert.ok(readFileSync(join(home, name)).equals(others), `${name}: before the CLOSE`);
  for (const { login, handle } of late) assert.equal(await login.sftp.close(handle), statusCodes.ok);

  const isMine = (name: string, { mine }: OpenHandle) => readFileSync(join(home, name)).equals(mine);
  for (const name of ['created', 'replaced', 'resumed'] as const)
    assert.ok(isMine(name, open[name]), `${name}: the name leads to the file of the last CLOSE`);
  assert.ok(readFileSync(join(home, 'in-place')).equals(open.inPlace.others), 'the path now leads to another file than the open one');
  await untilWithinMinute('nothing is left of the lost upload', () => !readdirSync(home).some((name) => name.startsWith('.svc-')));
  assert.ok(readFileSync(join(home, 'lost')).equals(open.lost.others));

  const ends = await endsOfUploads(nodes, folder);
  for (const { name } of late) assert.deepEqual(ends.get(`/${name}`), ['n0 30068', 'n1 30068'], name);
  assert.deepEqual(ends.get('/lost'), ['n0 30042', 'n1 30068']);
});

/** Returns, for each path, the events with which uploads ended, and their nodes. */
async function endsOfUploads(nodes: readonly NodeProcess[], folder: string): Promise<Map<string, string[]>> {
  for (const { running } of nodes) running.child.kill('SIGTERM');
  await Promise.all(nodes.map(({ running }) => running.ended));
  const ends = new Map<string, string[]>();
  for (const { name } of nodes)
    for await (const { event } of readEvents(journalFolder(join(folder, name)), undefined, ({ reason }) => assert.fail(reason))) {
      const path = String(event.data.path);
      if (['30068', '30042'].includes(event.id)) ends.set(path, [...(ends.get(path) ?? []), `${name} ${event.id}`].sort());
    }
  return ends;
}
