import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { prepareHomeFolder } from '../../src/accounts/home-folder.ts';
import { removeAbandoned, temporaryName } from '../../src/files/temporaries.ts';
import { run } from '../support/child.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('of many uploads at one time that must create a name, on two nodes, one succeeds', async (t) => {
  const first = await startServer(t);
  const second = await startServer(t, { group: { home_folder_path: first.home } });
  for (let round = 0; round < 20; round++) {
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        (index % 2 === 0 ? first : second).put(`/home/${round}.txt`, `from ${index}`, { headers: { 'if-none-match': '*' } }),
      ),
    );
    const winners = replies.flatMap(({ status }, index) => (status === 201 ? [index] : []));
    assert.equal(winners.length, 1, JSON.stringify(replies.map(({ status }) => status)));
    assert.ok(replies.every(({ status }) => status === 201 || status === 412));
    assert.equal(readFileSync(join(first.home, `${round}.txt`), 'utf8'), `from ${winners[0]}`);
  }
  assert.deepEqual(
    readdirSync(first.home).filter((name) => name.startsWith('.svc-')),
    [],
  );
});

test('uploads to one name at one time on two nodes: one content or the other, never a mixture', async (t) => {
  const first = await startServer(t);
  const second = await startServer(t, { group: { home_folder_path: first.home } });
  const contents = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000));
  for (let round = 0; round < 5; round++) {
    const replies = await Promise.all(contents.map((content, index) => (index % 2 === 0 ? first : second).put('/home/same.txt', content)));
    assert.ok(replies.every(({ status }) => status === 201));
    assert.ok(contents.includes((await first.get('/home/same.txt')).text));
  }
});

test('temporary files of a node that is gone are removed by age when their folder is read; those of the living stay', async (t) => {
  const folder = temporaryFolder(t);
  const old = join(folder, temporaryName());
  writeFileSync(old, 'x');
  const dayMs = 86_400_000;
  removeAbandoned(old, Date.now() + dayMs - 60_000);
  assert.ok(existsSync(old));
  removeAbandoned(old, Date.now() + dayMs + 60_000);
  assert.equal(existsSync(old), false);
  const sub = join(folder, temporaryName());
  mkdirSync(sub);
  removeAbandoned(sub, Date.now() + 2 * dayMs);
  assert.ok(existsSync(sub), 'only files');
  const server = await startServer(t);
  const fresh = join(server.home, temporaryName());
  writeFileSync(fresh, 'x');
  assert.deepEqual(await server.names('/home/'), []);
  assert.ok(existsSync(fresh), 'another node may be writing it');
});

test('a home folder that two nodes prepare at one time', async (t) => {
  const home = join(temporaryFolder(t), 'home');
  const account = { homeFolderPath: home, createHomeFolder: true, homeFolderStructure: ['in', 'out/deep'] } as never;
  const modules = Array.from({ length: 4 }, () => Promise.resolve().then(() => prepareHomeFolder(account)));
  await Promise.all(modules);
  assert.deepEqual(readdirSync(home).sort(), ['in', 'out']);
  // The other node creates the folder between the look and the creation.
  rmSync(join(home, 'in'), { recursive: true });
  const outcome = prepareHomeFolder(account);
  assert.deepEqual(outcome.created, [join(home, 'in')]);
});

test('a changed accounts file is seen by every node within a second', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'accounts.yaml');
  const hash = async (password: string) => (await run(t, ['hash-password'], { cwd: folder, input: password })).stdout.trim();
  const [old, next] = [await hash('old-password'), await hash('new-password')];
  writeFileSync(file, `accounts:\n  bob:\n    password: "${old}"\n`);
  const authentications = { local: { type: 'application', accounts_file_path: file } };
  const nodes = [await startServer(t, { authentications }), await startServer(t, { authentications })];
  for (const node of nodes) assert.equal((await node.get('/home/', { user: 'bob:old-password' })).status, 200);
  writeFileSync(file, `accounts:\n  bob:\n    password: "${next}"\n`);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  for (const node of nodes) {
    assert.equal((await node.get('/home/', { user: 'bob:new-password' })).status, 200);
    assert.equal((await node.get('/home/', { user: 'bob:old-password' })).status, 401);
  }
});
