import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run } from '../support/child.ts';
import { type NodeProcess, startNodes, untilWithinMinute } from '../support/node-process.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

test('if a node is killed between sending and moving a file, the next node does both again', {
  timeout: 110_000,
}, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const sent: string[] = [];
  let answer: () => void = () => {};
  const target = createServer((request, response) => {
    request.resume().once('end', () => {
      sent.push(String(request.url));
      const respond = () => void response.writeHead(201).end();
      if (sent.length === 1) answer = respond;
      else respond();
    });
  });
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve));
  t.after(() => target.close());
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/{path}`;
  const out = { type: 'forward', url, after: 'move:/sent/{path}' };
  const nodes = await startNodes(t, folder, 'http://127.0.0.1:9/', [redis.url, redis.url], { event_handlers: { out } });
  assert.equal((await nodes[0]?.client.put('/home/a.txt', 'x'))?.status, 201);
  await untilWithinMinute('the file is sent', () => sent.length === 1);
  await redis.kill();
  answer();
  const journals = nodes.map(({ name }) => join(folder, name, 'journal/events-00000001.ndjson'));
  const hasTold = (path: string) => readFileSync(path, 'utf8').includes('"id":"20202"');
  await untilWithinMinute('the event is on the disk of its node', () => journals.some(hasTold));
  const owner = nodes[journals.findIndex(hasTold)] as NodeProcess;
  assert.ok(existsSync(join(folder, 'home/a.txt')), 'the file is not moved before all nodes know that it was sent');
  await owner.kill();
  await redis.restart();
  await untilWithinMinute('the file is moved', () => existsSync(join(folder, 'home/sent/a.txt')));
  assert.deepEqual(sent, ['/a.txt', '/a.txt'], 'the file is sent again');
  const other = nodes.find((node) => node !== owner) as NodeProcess;
  const { stdout } = await run(t, ['events', '--json', '--config', other.config], { cwd: folder });
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as ServiceEvent);
  assert.deepEqual(
    events.filter(({ id }) => id === '20174').map(({ data }) => data.details),
    [],
  );
});
