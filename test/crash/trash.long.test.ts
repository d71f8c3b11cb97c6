import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { trashOf } from '../support/trash.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 4);

/** Returns the content of all files below a folder, except the records of the trash. Fails if there is a temporary file. */
function contents(folder: string, isInTrash = false): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap(({ name }) => {
    const path = join(folder, name);
    assert.doesNotMatch(name, /\.part$/, 'no temporary file is left behind');
    if (statSync(path).isDirectory()) return contents(path, isInTrash || name === '.svc-trash');
    return isInTrash && name.endsWith('.json') ? [] : [readFileSync(path, 'utf8')];
  });
}

test(`kill -9 during deletions, replacements and restorations, ${rounds} times: nothing is lost`, { timeout: 110_000 }, async (t) => {
  const folder = temporaryFolder(t);
  await writeConfig(folder, { group: { trash: { days: 30 } } });
  const home = join(folder, 'home');
  const stored = new Set<string>();
  let count = 0;
  let hits = 0;
  for (let round = 0; ; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    const there = new Set(contents(home));
    assert.deepEqual(
      [...stored].filter((content) => !there.has(content)),
      [],
      `round ${round}: content is lost`,
    );
    if (round > 0) assert.ok(existsSync(join(home, 'replaced')), 'a file that is only replaced always exists');
    const listed = await trashOf(client);
    if (round === rounds) {
      for (const [index, { id, size, is_directory }] of listed.entries()) {
        const path = `/back/${index}`;
        const reply = await client.send('POST', `/home/__svc__/trash/${id}/restore`, {
          body: JSON.stringify({ path }),
          headers: { 'content-type': 'application/json' },
        });
        assert.equal(reply.status, 201, reply.text);
        if (!is_directory) assert.equal(statSync(join(home, path)).size, size);
      }
      assert.deepEqual(await trashOf(client), []);
      const back = new Set(contents(home));
      assert.deepEqual(
        [...stored].filter((content) => !back.has(content)),
        [],
        'all content is back after the restorations',
      );
      server.child.kill('SIGTERM');
      assert.equal((await server.ended).code, 0);
      break;
    }
    const put = async (name: string) => {
      const content = `${name} ${++count}`;
      if ((await client.put(`/home/${name}`, content)).status === 201) stored.add(content);
    };
    mkdirSync(join(home, `tree-${round}`), { recursive: true });
    await Promise.all(['replaced', ...['a', 'b', 'c', 'd'].map((name) => `tree-${round}/${name}`)].map(put));
    let requests = 0;
    const working = [
      async () => {
        for (;;) await put('replaced');
      },
      async () => {
        for (let index = 0; ; index++) {
          await put(`one-${index % 3}`);
          await client.send('DELETE', `/home/one-${index % 3}`);
        }
      },
      async () => {
        for (;;) {
          await client.send('DELETE', `/home/tree-${round}/`);
          const id = (await trashOf(client)).find(({ path }) => path === `/tree-${round}`)?.id;
          if (id !== undefined) await client.send('POST', `/home/__svc__/trash/${id}/restore`);
          requests++;
        }
      },
    ].map((work) => work().catch(() => {}));
    while (requests < 3) await sleep(5);
    await sleep(round * 7);
    server.child.kill('SIGKILL');
    await Promise.all([server.ended, ...working]);
    hits++;
  }
  console.log(`${hits} kills, ${stored.size} contents, none lost`);
});
