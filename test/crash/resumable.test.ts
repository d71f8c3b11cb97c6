import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { readEvents } from '../support/journal.ts';
import { writeConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const rounds = Number(process.env.SVC_CRASH_ROUNDS ?? 3);
const pieceBytes = 500_000;

test(`kill -9 at any moment of resumable uploads, ${rounds} times: each ends with its exact bytes, and is told of once`, {
  timeout: 110_000 + rounds * 5000,
}, async (t) => {
  const folder = temporaryFolder(t);
  await writeConfig(folder);
  const uploads = Array.from({ length: 3 }, (_, index) => ({
    path: `/f${index}`,
    content: randomBytes(2_000_000 + index),
    url: '',
    toldBytes: 0,
    isDone: false,
  }));
  const goOn = async (client: Client, upload: (typeof uploads)[number]) => {
    if (upload.url === '') {
      const headers = { 'upload-complete': '?0', 'upload-length': String(upload.content.length) };
      upload.url = String((await client.put(`/home${upload.path}`, '', { headers })).headers.location);
    }
    const head = await client.send('HEAD', upload.url);
    assert.equal(head.status, 204, head.text);
    let offset = Number(head.headers['upload-offset']);
    assert.ok(offset >= upload.toldBytes, `${offset} bytes are there, ${upload.toldBytes} were told`);
    if (head.headers['upload-complete'] === '?1') upload.isDone = true;
    while (!upload.isDone) {
      const piece = upload.content.subarray(offset, offset + pieceBytes);
      const isLast = offset + piece.length === upload.content.length;
      const headers = {
        'upload-offset': String(offset),
        'upload-complete': isLast ? '?1' : '?0',
        'content-type': 'application/partial-upload',
      };
      const reply = await client.send('PATCH', upload.url, { headers, body: piece });
      assert.equal(reply.status, isLast ? 201 : 204, reply.text);
      offset += piece.length;
      upload.toldBytes = offset;
      upload.isDone = isLast;
    }
  };
  for (let kills = 0; ; kills++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const client = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
    const isKilled = kills < rounds;
    const killed = isKilled ? sleep(Math.random() * 120).then(() => server.child.kill('SIGKILL')) : undefined;
    const ends = await Promise.allSettled(uploads.map((upload) => goOn(client, upload)));
    await killed;
    for (const end of ends) if (end.status === 'rejected' && (!isKilled || end.reason instanceof assert.AssertionError)) throw end.reason;
    if (!isKilled) {
      server.child.kill('SIGTERM');
      assert.equal((await server.ended).code, 0, server.stderr());
      break;
    }
    await server.ended;
  }
  for (const { path, content } of uploads) assert.ok(readFileSync(join(folder, 'home', path)).equals(content), path);
  // Of one whose URL was lost with its server the content waits for its expiry.
  const shown = readdirSync(join(folder, 'home')).filter((name) => !name.startsWith('.'));
  assert.deepEqual(
    shown.toSorted(),
    uploads.map(({ path }) => path.slice(1)),
  );
  const told = new Map<string, number>();
  const bad = (line: { reason: string }) => assert.fail(line.reason);
  for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, bad)) {
    const key = `${event.id} ${String(event.data.path)}`;
    told.set(key, (told.get(key) ?? 0) + 1);
  }
  for (const { path } of uploads) {
    assert.equal(told.get(`40017 ${path}`), 1, `40017 of ${path}`);
    assert.equal(told.get(`40022 ${path}`), undefined, `40022 of ${path}`);
  }
});
