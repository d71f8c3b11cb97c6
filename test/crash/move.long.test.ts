import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { otherDisk } from '../support/other-disk.ts';
import { cheapHash } from '../support/passwords.ts';
import { testBasic, testPassword } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';

const rounds = Number(process.env.SVC_CRASH_MOVES ?? 15);
const files = 60;

function wholeFiles(folder: string): number {
  try {
    return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).equals(Buffer.alloc(100_000, name))).length;
  } catch {
    return 0;
  }
}

test(`kill -9 in the middle of a MOVE to another disk, ${rounds} times: nothing is lost, no debris`, { timeout: 110_000 }, async (t) => {
  const disk = otherDisk(t);
  if (!disk) return;
  const folder = temporaryFolder(t);
  const home = join(folder, 'home');
  mkdirSync(join(home, 'tree'), { recursive: true });
  for (let index = 0; index < files; index++) writeFileSync(join(home, `tree/f${index}`), Buffer.alloc(100_000, `f${index}`));
  const config = {
    groups: { DEFAULT_GROUP: { home_folder_path: home, virtual_folders: [['/v', disk]] } },
    accounts: { alice: { password: await cheapHash(testPassword) } },
    services: { web: { type: 'http', port: 0 } },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  let interrupted = 0;
  let answered = 0;
  for (let round = 0; round <= rounds; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    for (const place of [home, disk])
      assert.deepEqual(
        readdirSync(place).filter((name) => name.startsWith('.')),
        [],
        'nothing is left behind',
      );
    const here = wholeFiles(join(home, 'tree'));
    const there = wholeFiles(join(disk, 'tree'));
    assert.ok(here === files || there === files, `round ${round}: ${here} here, ${there} there`);
    if (round === rounds) {
      server.child.kill('SIGTERM');
      await server.ended;
      break;
    }
    const [from, to] = there === files ? ['v/tree/', 'tree/'] : ['tree/', 'v/tree/'];
    const headers = { authorization: testBasic, destination: `/home/${to}` };
    const outgoing = request(`${client.url}/home/${from}`, { method: 'MOVE', headers }, (reply) => {
      reply.resume();
      if ((reply.statusCode ?? 0) < 300) answered++;
    });
    outgoing.on('error', () => {});
    outgoing.end();
    const places = [home, disk];
    // Wait until the move has begun, and then for a time that differs from round to round.
    for (let waited = 0; waited < 2000 && !places.some((place) => readdirSync(place).some((name) => name.startsWith('.'))); waited++)
      await sleep(1);
    await sleep((round * 53) % 400);
    server.child.kill('SIGKILL');
    await server.ended;
    if (places.some((place) => readdirSync(place).some((name) => name.startsWith('.svc-')))) interrupted++;
  }
  let moved = 0;
  for await (const { event } of readEvents(journalFolder(join(folder, 'svc-data')), undefined, () => assert.fail('a bad line')))
    if (event.id === '40065') moved++;
  assert.ok(moved >= answered, `${moved} events of ${answered} answered moves`);
  console.log(`${rounds} kills, ${interrupted} of them in the middle of a move, ${answered} moves answered`);
  assert.ok(interrupted > 0, 'some kills hit a move half-way');
});
