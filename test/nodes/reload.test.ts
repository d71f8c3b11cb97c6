import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Nodes, startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { learnSecret, testBasic, testPassword } from '../support/secrets.ts';
import { type TestConfig, testConfig } from '../support/server.ts';
import { stallDownload } from '../support/stalled-transfers.ts';

/** More than the buffers of sockets hold. */
const largeBytes = 64 * 1024 * 1024;

type Session = { authorization: string };

const sessionAt = async (node: TestNode, username = 'alice'): Promise<Session> => ({
  authorization: `session ${await node.login(username)}`,
});
const statusAt = async (node: TestNode, headers: Session) => (await node.get('/home/', { user: null, headers, mayFail: true })).status;

async function reload({ folder, nodes, serverOf }: Nodes, index: number, config: TestConfig) {
  const loaded = await testConfig(folder, { ...config, server: { ...serverOf(`n${index}`), ...config.server } });
  return ((await nodes[index]?.service.reload(loaded)) ?? assert.fail()).ended;
}

function makeLarge({ folder }: Nodes): void {
  writeFileSync(join(folder, 'home', 'large'), '');
  truncateSync(join(folder, 'home', 'large'), largeBytes);
}

test('an account that is disabled at one of two nodes loses its sessions at both, and new sessions are refused at that node', async (t) => {
  const accounts = { bob: { password: await cheapHash(testPassword) } };
  const started = await startNodesOnRedis(t, 2, { accounts });
  if (!started) return;
  makeLarge(started);
  const [first, second] = started.nodes as [TestNode, TestNode];
  const [alice, bob] = [await sessionAt(first), await sessionAt(first, 'bob')];
  assert.deepEqual([await statusAt(second, alice), await statusAt(second, bob)], [200, 200]);
  const [here, there] = [
    await stallDownload(second.port, '/home/large', { authorization: testBasic }),
    await stallDownload(first.port, '/home/large', { authorization: testBasic }),
  ];
  const out = { accounts, account: { enabled: false } };
  assert.deepEqual(await reload(started, 1, out), { sessions: 1, connections: 0, transfers: 1 });
  assert.ok((await here.finish()) < largeBytes, 'the download is cut at the node where the account is disabled');
  assert.deepEqual([await statusAt(first, alice), await statusAt(first, bob)], [401, 200], 'the session of alice has ended at both nodes');
  const again = await sessionAt(first);
  assert.equal(await statusAt(first, again), 200, 'a node that has not reloaded accepts the account');
  assert.equal(await statusAt(second, again), 401, 'the session is refused at the node where the account is disabled');
  assert.equal(await statusAt(first, again), 401, 'this refusal ended the session');
  assert.deepEqual(await reload(started, 0, out), { sessions: 0, connections: 0, transfers: 1 });
  assert.ok((await there.finish()) < largeBytes);
  assert.deepEqual([await statusAt(first, bob), await statusAt(second, bob)], [200, 200]);
  await assert.rejects(first.login());
});

test('after a password change at one node, the session that made it continues at all nodes, and all other sessions end', async (t) => {
  const config = {
    group: { allow_own_password_change: true },
    authentications: { local: { type: 'application', accounts_file_path: 'shared-accounts.yaml' } },
  };
  const started = await startNodesOnRedis(t, 2, config);
  if (!started) return;
  makeLarge(started);
  const [first, second] = started.nodes as [TestNode, TestNode];
  const [own, other] = [await sessionAt(first), await sessionAt(second)];
  const running = await stallDownload(second.port, '/home/large', own);
  const foreign = await stallDownload(second.port, '/home/large', { authorization: testBasic });
  const next = 'changed by herself, long enough';
  learnSecret(next, 'a changed password');
  const { status } = await first.send('POST', '/home/__svc__/password-update', {
    user: null,
    headers: { ...own, 'content-type': 'application/json' },
    body: JSON.stringify({ current_password: testPassword, new_password: next }),
  });
  assert.equal(status, 204);
  await until('the other node has read the file', () =>
    second.log.some((line) => line.includes('sessions and connections without a valid account were ended')),
  );
  assert.ok((await foreign.finish()) < largeBytes, 'the download with the old password is cut');
  assert.ok((await running.finish()) > largeBytes, 'the download of the remaining session is whole');
  for (const node of [first, second]) assert.deepEqual([await statusAt(node, own), await statusAt(node, other)], [200, 401]);
  assert.deepEqual(await reload(started, 1, config), { sessions: 0, connections: 0, transfers: 0 });
  for (const node of [first, second]) assert.equal(await statusAt(node, own), 200);
});

test('a reload without Redis cuts transfers of disabled accounts, and their sessions are invalid when Redis is back', async (t) => {
  const started = await startNodesOnRedis(t, 1, {});
  if (!started) return;
  makeLarge(started);
  const [node] = started.nodes as [TestNode];
  const alice = await sessionAt(node);
  const running = await stallDownload(node.port, '/home/large', alice);
  await started.redis.kill();
  assert.deepEqual(await reload(started, 0, { account: { enabled: false } }), { sessions: 0, connections: 0, transfers: 1 });
  assert.ok((await running.finish()) < largeBytes);
  await started.redis.restart();
  let status = 503;
  await until('Redis is back', async () => {
    status = await statusAt(node, alice);
    return status !== 503;
  });
  assert.equal(status, 401);
});
