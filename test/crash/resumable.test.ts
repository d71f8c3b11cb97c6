import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { type Running, start } from '../support/child.ts';
import { readEvents } from '../support/journal.ts';
import { randomFrom } from '../support/random.ts';
import { freePort } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { type UploadScript, uploadScripts, writeNetrc } from '../support/upload-scripts.ts';
import { AttentiveClient, ScriptClient } from '../support/uploading-clients.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 3);
const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));

const victims = ['both', 'client', 'server'] as const;

test(`kill -9 of server and clients at any moment of resumable uploads, ${rounds} times: each file is exact, and reported once`, {
  timeout: 110_000 + rounds * 5000,
}, async (t) => {
  for (const { needs } of Object.values(uploadScripts)) if (!hasProgram(t, needs)) return;
  console.log(`seed ${seed}: ${t.name}`);
  const random = randomFrom(seed);
  const folder = temporaryFolder(t);
  const port = await freePort();
  await writeConfig(folder, { service: { port } });
  writeNetrc(t, folder);
  const serve = async (): Promise<Running> => {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    await server.line(/(http:\S+)\/\n/);
    return server;
  };
  let server = await serve();
  const attentive = [1, 2].map((number) => new AttentiveClient(folder, port, `attentive${number}`));
  const scripts = (Object.keys(uploadScripts) as UploadScript[]).map((script) => new ScriptClient(folder, port, script));
  const clients = [...attentive, ...scripts];
  for (const client of clients) client.start();
  for (let round = 0; round < rounds; round++) {
    await Promise.race([sleep(random() * 250), ...clients.map(({ failed }) => failed)]);
    const victim = victims[round % victims.length];
    if (victim !== 'server') await scripts[Math.floor(random() * scripts.length)]?.kill();
    if (victim === 'client') continue;
    server.child.kill('SIGKILL');
    await server.ended;
    server = await serve();
  }
  const uploads = (await Promise.all(clients.map((client) => client.finish()))).flat();
  server.child.kill('SIGTERM');
  assert.equal((await server.ended).code, 0, server.stderr());
  assert.ok(uploads.length >= clients.length);

  const told = new Map<string, number>();
  const bad = (line: { reason: string }) => assert.fail(line.reason);
  for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, bad)) {
    const key = `${event.id} ${String(event.data.path)}`;
    told.set(key, (told.get(key) ?? 0) + 1);
    if (event.id === '40022') assert.equal(Number(event.data.total_write ?? 0), 0, `${key}: its client had begun to send`);
  }
  for (const name of uploads) {
    assert.equal(told.get(`40017 /${name}`), 1, `40017 of ${name}`);
    // If a client was killed before it got the URL of its upload, the client began another one, and the first one failed, with an event.
    const [begun, failed] = [40021, 40022].map((id) => told.get(`${id} /${name}`) ?? 0) as [number, number];
    assert.ok(failed < begun, `${name}: ${begun} began, ${failed} failed`);
  }
  // An upload whose URL was lost with its server or client is empty and waits for its expiry.
  const left = readdirSync(join(folder, 'home'));
  for (const name of left) assert.match(name, /^\.svc-[0-9a-f]+\.kept$/);
  for (const name of left) assert.equal(statSync(join(folder, 'home', name)).size, 0, 'no client had begun to send content');
  console.log(`${uploads.length} uploads, ${rounds} kills`);
});
