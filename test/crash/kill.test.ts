import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { testUser } from '../support/secrets.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 3);

function body(round: number, bytes: number): Buffer {
  return Buffer.alloc(bytes, createHash('sha256').update(String(round)).digest());
}

test(`kill -9 during uploads, at least ${rounds} times: files are whole, nothing else is left, no event is lost`, {
  timeout: 110_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  await writeConfig(folder);
  let content = Buffer.from('first');
  const answered: string[] = [];
  let torn = 0;
  let kills = 0;
  for (let round = 0; ; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    assert.deepEqual(
      readdirSync(join(folder, 'home')).filter((name) => name.startsWith('.')),
      [],
      'nothing is left behind',
    );
    if (round > 0) {
      const kept = readFileSync(join(folder, 'home/target'));
      const next = body(round - 1, 2_000_000);
      assert.ok(kept.equals(content) || kept.equals(next), `round ${round}: the file is neither the old nor the new one`);
      content = kept;
    } else {
      assert.equal((await client.put('/home/target', content)).status, 201);
    }
    if (round >= rounds && (torn > 0 || round >= 5 * rounds)) {
      server.child.kill('SIGTERM');
      assert.equal((await server.ended).code, 0);
      break;
    }
    // Small answered uploads beside the killed one: the journal must have their events.
    for (let index = 0; index < 3; index++) {
      const name = `/answered-${round}-${index}`;
      if ((await client.put(`/home${name}`, 'x')).status === 201) answered.push(name);
    }
    const socket = connect(client.port, '127.0.0.1');
    socket.on('error', () => {});
    const authorization = Buffer.from(testUser).toString('base64');
    const bytes = body(round, 2_000_000);
    socket.write(
      `PUT /home/target HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${authorization}\r\nContent-Length: ${bytes.length}\r\n\r\n`,
    );
    const cut = round % 5 === 0 ? bytes.length : Math.floor((bytes.length * (round % 7)) / 7);
    socket.write(bytes.subarray(0, cut));
    await sleep(round % 11);
    server.child.kill('SIGKILL');
    kills++;
    await server.ended;
    if (readdirSync(join(folder, 'home')).some((name) => name.startsWith('.svc-'))) torn++;
    socket.destroy();
  }
  const uploaded = new Set<unknown>();
  let bad = 0;
  for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, () => bad++))
    if (event.id === '40017') uploaded.add(event.data.path);
  assert.equal(bad, 0);
  assert.deepEqual(
    answered.filter((name) => !uploaded.has(name)),
    [],
  );
  console.log(`${kills} kills, ${torn} of them with an upload on disk half-way, ${answered.length} answered uploads all in the journal`);
  assert.ok(torn > 0, 'some kills hit an upload half-way');
});
