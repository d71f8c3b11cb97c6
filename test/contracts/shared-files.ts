import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { prepareHomeFolder } from '../../src/accounts/home-folder.ts';
import { removeAbandoned, temporaryName } from '../../src/files/disk/temporaries.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestConfig, type TestServer } from '../support/server.ts';

/** One folder as two nodes see it. */
export interface SharedFolder {
  here: string;
  there: string;
}

/** The contract of nodes that share a file system. @param open makes an empty folder */
export function sharedFilesContract(name: string, open: (t: TestContext) => SharedFolder): void {
  const contract = (what: string, body: (t: TestContext, folder: SharedFolder) => Promise<void>) =>
    test(`${name}: ${what}`, (t) => body(t, open(t)));
  const start = async (t: TestContext, folder: SharedFolder, config: TestConfig = {}): Promise<[TestServer, TestServer]> => {
    const home = (path: string) => ({ ...config, group: { home_folder_path: path, ...config.group } });
    return [await startServer(t, home(folder.here)), await startServer(t, home(folder.there))];
  };
  const json = { headers: { accept: 'application/json' } };

  contract('if two nodes get concurrent uploads that must not replace a file, one upload succeeds', async (t, folder) => {
    const nodes = await start(t, folder);
    for (let round = 0; round < 20; round++) {
      const replies = await Promise.all(
        Array.from({ length: 6 }, (_, index) =>
          (nodes[index % 2] as TestServer).put(`/home/${round}.txt`, `from ${index}`, { headers: { 'if-none-match': '*' } }),
        ),
      );
      const winners = replies.flatMap(({ status }, index) => (status === 201 ? [index] : []));
      assert.equal(winners.length, 1, JSON.stringify(replies.map(({ status }) => status)));
      assert.ok(replies.every(({ status }) => status === 201 || status === 412));
      for (const node of nodes) assert.equal((await node.get(`/home/${round}.txt`)).text, `from ${winners[0]}`);
    }
    assert.deepEqual(
      readdirSync(folder.here).filter((entry) => entry.startsWith('.svc-')),
      [],
    );
  });

  contract('where files may only be added, one of several uploads on two nodes gets the name, or each a number', async (t, folder) => {
    for (const on_name_taken of ['refuse', 'number']) {
      const nodes = await start(t, folder, { account: { permissions: [['allow-create-file', 'allow-read']], on_name_taken } });
      for (let round = 0; round < 10; round++) {
        const url = `/home/${on_name_taken}-${round}`;
        const texts = ['0', '1', '2', '3', '4', '5'];
        const replies = await Promise.all(texts.map((text, index) => (nodes[index % 2] as TestServer).put(url, text)));
        const stored = texts.filter((_, index) => replies[index]?.status === 201);
        assert.equal(stored.length, on_name_taken === 'number' ? 6 : 1, JSON.stringify(replies.map(({ status }) => status)));
        const names = readdirSync(folder.here).filter((name) => name.startsWith(`${on_name_taken}-${round}`));
        assert.deepEqual(names.map((name) => readFileSync(join(folder.there, name), 'utf8')).sort(), stored);
      }
    }
  });

  contract('a node does not change or delete a file that the other node has stored with a retention period', async (t, folder) => {
    const [here, there] = await start(t, folder, { account: { retain: { days: 1 } } });
    assert.equal((await here.put('/home/kept.txt', 'one')).status, 201);
    assert.equal((await there.put('/home/kept.txt', 'two')).status, 403);
    assert.equal((await there.send('DELETE', '/home/kept.txt')).status, 403);
    assert.equal((await there.get('/home/kept.txt')).text, 'one');
  });

  contract('if two nodes create folders or move files to the same name concurrently, one request succeeds', async (t, folder) => {
    const nodes = await start(t, folder);
    for (let round = 0; round < 10; round++) {
      const both = (make: (node: TestServer, index: number) => Promise<{ status: number }>) =>
        Promise.all(Array.from({ length: 4 }, (_, index) => make(nodes[index % 2] as TestServer, index)));
      const made = await both((node) => node.send('MKCOL', `/home/folder-${round}/`));
      assert.deepEqual(made.map(({ status }) => status).sort(), [201, 405, 405, 405]);
      for (const index of [0, 1, 2, 3]) writeFileSync(join(folder.here, `from-${round}-${index}`), String(index));
      const destination = `/home/to-${round}`;
      const moved = await both((node, index) =>
        node.send('MOVE', `/home/from-${round}-${index}`, { headers: { destination, overwrite: 'F' } }),
      );
      assert.deepEqual(moved.map(({ status }) => status).sort(), [201, 412, 412, 412]);
      const winner = moved.findIndex(({ status }) => status === 201);
      for (const node of nodes) assert.equal((await node.get(destination)).text, String(winner), 'refused requests destroyed nothing');
    }
  });

  contract('concurrent uploads to one name on two nodes leave one content or the other, never a mixture', async (t, folder) => {
    const nodes = await start(t, folder);
    const contents = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200_000));
    for (let round = 0; round < 5; round++) {
      const replies = await Promise.all(contents.map((content, index) => (nodes[index % 2] as TestServer).put('/home/same.txt', content)));
      assert.ok(replies.every(({ status }) => status === 201));
      const [first, second] = await Promise.all(nodes.map((node) => node.get('/home/same.txt')));
      assert.ok(contents.includes(first?.text ?? ''));
      assert.equal(second?.text, first?.text);
    }
  });

  contract(
    'a node sees what the other node changed: new, replaced, moved and deleted files, even those that it did not find before',
    async (t, folder) => {
      const [here, there] = await start(t, folder);
      for (let round = 0; round < 5; round++) {
        const path = `/home/${round}.txt`;
        assert.equal((await there.get(path, json)).status, 404);
        assert.equal((await here.put(path, 'one')).status, 201);
        assert.equal((await there.get(path)).text, 'one');
        assert.deepEqual(await there.names('/home/'), [`${round}.txt`]);
        assert.equal((await here.put(path, 'another')).status, 201);
        const replaced = await there.get(path);
        assert.equal(replaced.text, 'another');
        assert.equal((await there.send('HEAD', path)).headers['content-length'], '7');
        assert.equal((await here.get(path)).headers.etag, replaced.headers.etag, 'both nodes have one entity tag');
        assert.equal((await there.put(path, 'x', { headers: { 'if-match': '"no"' } })).status, 412);
        assert.equal((await here.send('MOVE', path, { headers: { destination: `${path}.moved` } })).status, 201);
        assert.equal((await there.get(path, json)).status, 404);
        assert.equal((await there.get(`${path}.moved`)).text, 'another');
        assert.equal((await here.send('DELETE', `${path}.moved`)).status, 204);
        assert.equal((await there.get(`${path}.moved`, json)).status, 404);
        assert.deepEqual(await there.names('/home/'), []);
      }
    },
  );

  contract(
    'a download of a file that the other node replaces or deletes has the old or the new content, never a mixture',
    async (t, folder) => {
      const [here, there] = await start(t, folder);
      const size = 8_000_000;
      for (const change of [() => here.put('/home/big.bin', 'b'.repeat(size)), () => here.send('DELETE', '/home/big.bin')]) {
        await there.put('/home/big.bin', 'a'.repeat(size));
        const reading = there.get('/home/big.bin', { mayFail: true }).then(
          ({ status, text }) => ({ status, text }),
          () => ({ status: 0, text: '' }),
        );
        await change();
        const { status, text } = await reading;
        if (status === 200) assert.ok(/^a*$/.test(text) || text === 'b'.repeat(size), 'the download has the old or the new content');
        else assert.ok(status === 404 || status === 0, String(status));
      }
      assert.deepEqual(await there.names('/home/'), []);
    },
  );

  contract('a file that is deleted while it is open is in no listing, and its folder can be deleted', async (t, folder) => {
    const [here, there] = await start(t, folder);
    mkdirSync(join(folder.here, 'sub'));
    writeFileSync(join(folder.here, 'sub/open.txt'), 'x');
    writeFileSync(join(folder.here, 'open.txt'), 'x');
    // If an open file is removed, NFS renames it, and removes it when it is closed (silly rename).
    const open = [openSync(join(folder.here, 'sub/open.txt'), 'r'), openSync(join(folder.here, 'open.txt'), 'r')];
    assert.equal((await here.send('DELETE', '/home/open.txt')).status, 204);
    for (const node of [here, there]) assert.deepEqual(await node.names('/home/'), ['sub']);
    assert.equal((await here.send('DELETE', '/home/sub/?recursive=true', json)).status, 204);
    for (const node of [here, there]) assert.deepEqual(await node.names('/home/'), []);
    for (const fd of open) closeSync(fd);
    await here.stop();
  });

  contract(
    'temporary files that are older than a day are removed; newer ones, which another node may be writing, stay',
    async (t, folder) => {
      const dayMs = 86_400_000;
      const old = join(folder.here, temporaryName());
      writeFileSync(old, 'x');
      removeAbandoned(old, Date.now() + dayMs - 60_000);
      assert.ok(existsSync(old));
      removeAbandoned(old, Date.now() + dayMs + 60_000);
      assert.equal(existsSync(old), false);
      const sub = join(folder.here, temporaryName());
      mkdirSync(sub);
      removeAbandoned(sub, Date.now() + 2 * dayMs);
      assert.ok(existsSync(sub), 'temporary folders stay');
      const fresh = join(folder.here, temporaryName());
      writeFileSync(fresh, 'x');
      const [, there] = await start(t, folder);
      assert.deepEqual(await there.names('/home/'), []);
      assert.ok(existsSync(fresh), 'a new temporary file stays, because another node may be writing it');
    },
  );

  contract('two nodes can prepare a home folder at the same time', async (_, folder) => {
    const accountAt = (path: string) =>
      ({ homeFolderPath: join(path, 'home'), createHomeFolder: true, homeFolderStructure: ['in', 'out/deep'] }) as never;
    await Promise.all(
      [folder.here, folder.there, folder.here].map((path) =>
        Promise.resolve().then(() => prepareHomeFolder(accountAt(path), (fault) => assert.fail(String(fault)))),
      ),
    );
    assert.deepEqual(readdirSync(join(folder.there, 'home')).sort(), ['in', 'out']);
    // A folder that was deleted meanwhile is created again, and only this folder is returned.
    rmSync(join(folder.here, 'home/in'), { recursive: true });
    assert.deepEqual(
      prepareHomeFolder(accountAt(folder.here), (fault) => assert.fail(String(fault))),
      [join(folder.here, 'home/in')],
    );
  });

  contract('every node sees a changed accounts file within seconds', async (t, folder) => {
    const file = 'accounts.yaml';
    const hashes = [await cheapHash('old-password'), await cheapHash('new-password')];
    const write = (hash = '') => {
      writeFileSync(join(folder.here, 'next'), `accounts:\n  bob:\n    password: "${hash}"\n`);
      renameSync(join(folder.here, 'next'), join(folder.here, file));
    };
    write(hashes[0]);
    const nodes: TestServer[] = [];
    for (const path of [folder.here, folder.there])
      nodes.push(
        await startServer(t, {
          group: { home_folder_path: path },
          authentications: { local: { type: 'application', accounts_file_path: join(path, file) } },
        }),
      );
    for (const node of nodes) assert.equal((await node.get('/home/', { user: 'bob:old-password' })).status, 200);
    write(hashes[1]);
    for (const node of nodes) {
      await until(
        'the new password is accepted',
        async () => (await node.get('/home/', { user: 'bob:new-password', ...json })).status === 200,
      );
      assert.equal((await node.get('/home/', { user: 'bob:old-password', ...json })).status, 401);
    }
    assert.match(readFileSync(join(folder.there, file), 'utf8'), /bob/);
  });
}
