import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventIds } from '../../src/events/event-ids.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { readEvents } from '../support/journal.ts';
import { makeLink, page, visit } from '../support/links.ts';
import { startNodesOnRedis } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';

test('nodes share links: made at one, used, changed and revoked at the other, downloads counted together; any node gives receipts', {
  timeout: 90_000,
}, async (t) => {
  const started = await startNodesOnRedis(t, 2, {});
  if (!started) return;
  const [first, second] = started.nodes as [(typeof started.nodes)[0], (typeof started.nodes)[0]];
  mkdirSync(join(started.folder, 'home/in'), { recursive: true });
  writeFileSync(join(started.folder, 'home/a.txt'), 'a');
  const link = await makeLink(first, { path: '/a.txt', maximum_downloads: 3 });
  const gets = await Promise.all([first, second, first, second, first].map((node) => visit(node, 'GET', link.at)));
  assert.deepEqual(gets.map(({ status }) => status).sort(), [200, 200, 200, 410, 410]);
  const restMs = Number((await started.redis.command(`PTTL "{svc}:grant-visit:${link.id} 127.0.0.1"`)).replace(':', ''));
  assert.ok(restMs > 3_500_000 && restMs <= 3_600_000, `${restMs}`);
  const locked = await makeLink(second, { path: '/a.txt', password: 'a word' });
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...page };
  const opened = await visit(first, 'POST', locked.at, { headers: form, body: 'password=a+word' });
  const cookie = (opened.headers['set-cookie']?.[0] ?? '').split(';')[0] as string;
  assert.equal((await visit(second, 'GET', `${locked.at}a.txt`, { headers: { cookie } })).text, 'a', 'the cookie is valid at any node');
  const drop = await makeLink(first, { path: '/in', kind: 'drop' });
  const put = await visit(second, 'PUT', `${drop.at}x.txt`, { body: 'x' });
  const [file] = put.json<{ results: { event_id: string }[] }>().results;
  await until('the other node knows the file', async () => {
    const receipt = await visit(first, 'GET', `${drop.at}receipt?ids=${file?.event_id}&as=json`);
    return receipt.json<{ files: unknown[] }>().files.length === 1;
  });
  const change = { headers: { 'content-type': 'application/json' }, body: '{"maximum_downloads": 4}' };
  assert.equal((await second.send('PATCH', `/home/__svc__/links/${link.id}`, change)).status, 200);
  assert.equal((await visit(first, 'GET', link.at)).status, 200, 'the change holds immediately at every node');
  assert.equal((await visit(second, 'GET', link.at)).status, 410);
  assert.equal((await second.send('DELETE', `/home/__svc__/links/${locked.id}`)).status, 204);
  assert.equal((await visit(first, 'GET', locked.at)).status, 410, 'the revocation holds immediately at every node');
  for (const node of started.nodes) await node.stop();
  const told: unknown[] = [];
  for (const name of ['n0', 'n1'])
    for await (const { event } of readEvents(journalFolder(join(started.folder, name)), undefined, ({ reason }) => assert.fail(reason)))
      if (Number(event.id) === eventIds.linkOpened) told.push(event.data.link);
  assert.deepEqual(told.sort(), [link.id, locked.id, drop.id].sort(), 'opening is reported once for each link over all nodes');
});
