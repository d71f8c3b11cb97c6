import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { formatPosition, type LogPosition, parsePosition } from '../../src/events/journal/position.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { readAll, testEvent } from '../contracts/event-log.ts';
import { readEvents } from '../support/journal.ts';
import { temporaryFolder } from '../support/temp.ts';

// This file is also the program of the child processes: SVC_TEST_JOURNAL names the journal that they write.
const childFolder = process.env.SVC_TEST_JOURNAL;
const rounds = 10;

function open(folder: string): FileEventLog {
  return new FileEventLog({ folder, maximumFileSizeBytes: 60_000, retentionDays: 30, clock: systemClock, log: silentLog });
}

/** Appends endlessly. Prints each text once its event is acknowledged. */
async function writeForever(folder: string): Promise<never> {
  const log = open(folder);
  for (let index = 0; ; index++) {
    const text = `${process.pid}-${index}`;
    const event = testEvent(text);
    if (index % 3 === 0) await log.appendDurable(event);
    else log.append(event);
    process.stdout.write(`${text}\n`);
    if (index % 50 === 0) await new Promise(setImmediate);
  }
}

function startWriter(folder: string): { child: ChildProcess; acknowledged: () => string[]; ended: Promise<unknown> } {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    env: { ...env, SVC_TEST_JOURNAL: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  return {
    child,
    acknowledged: () =>
      text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .slice(0, -1),
    ended: new Promise((resolve) => child.on('close', resolve)),
  };
}

if (childFolder !== undefined) await writeForever(childFolder);

test(`kill -9 of the writer, ${rounds} times: every acknowledged event is there once, and the journal is whole`, {
  timeout: 60_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const writer = startWriter(folder);
    t.after(() => writer.child.kill('SIGKILL'));
    while (writer.acknowledged().length === 0) await systemClock.sleep(1);
    await systemClock.sleep(round % 9);
    writer.child.kill('SIGKILL');
    await writer.ended;
    acknowledged.push(...writer.acknowledged());
  }
  const log = open(folder);
  const texts = (await readAll(log)).map(({ event }) => String(event.data.text));
  await log.close();
  const found = new Set(texts);
  assert.equal(found.size, texts.length, 'no event occurs twice');
  assert.deepEqual(
    acknowledged.filter((text) => !found.has(text)),
    [],
  );
  console.log(`${rounds} kills, ${acknowledged.length} acknowledged events, ${texts.length} in the journal`);
});

test('a reader in another process follows a live journal across its files, each event once and in order', {
  timeout: 60_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const writer = startWriter(folder);
  t.after(() => writer.child.kill('SIGKILL'));
  while (writer.acknowledged().length === 0) await systemClock.sleep(1);
  const indices: number[] = [];
  const segments = new Set<number>();
  let from: LogPosition | undefined;
  const follow = async () => {
    for await (const { event, next, position } of readEvents(folder, from, (bad) => assert.fail(bad.reason))) {
      indices.push(Number(String(event.data.text).split('-')[1]));
      segments.add(position.segment);
      from = parsePosition(formatPosition(next));
    }
  };
  while (segments.size < 8) await follow();
  writer.child.kill('SIGKILL');
  await writer.ended;
  await follow();
  assert.deepEqual(
    indices,
    indices.map((_, index) => index),
  );
  assert.ok(indices.length >= writer.acknowledged().length);
});
