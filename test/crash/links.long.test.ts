import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { makeLink, visit } from '../support/links.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

test('kill -9 loses no link, no revocation and no counted download whose reply was sent', {
  timeout: 90_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  await writeConfig(folder);
  const kept: string[] = [];
  const over: string[] = [];
  for (let round = 0; round < 3; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    writeFileSync(join(folder, 'home/a.txt'), 'a');
    for (const at of kept) assert.equal((await visit(client, 'GET', at)).text, 'a', `round ${round}: a link is lost`);
    for (const at of over) assert.equal((await visit(client, 'GET', at)).status, 410, `round ${round}: an ended link works again`);
    const [one, two, once] = await Promise.all([
      makeLink(client, { path: '/a.txt' }),
      makeLink(client, { path: '/a.txt' }),
      makeLink(client, { path: '/a.txt', maximum_downloads: 1 }),
    ]);
    assert.equal((await client.send('DELETE', `/home/__svc__/links/${two.id}`)).status, 204);
    assert.equal((await visit(client, 'GET', once.at)).status, 200);
    server.child.kill('SIGKILL');
    await server.ended;
    kept.push(one.at);
    over.push(two.at, once.at);
  }
});
