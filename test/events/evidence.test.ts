import assert from 'node:assert/strict';
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Checkpoint, parseCheckpoint } from '../../src/events/journal/checkpoints.ts';
import { nextKeyPath, readKey, writeKey } from '../../src/events/journal/evidence.ts';
import { FileEventLog } from '../../src/events/journal/file-event-log.ts';
import { verifyJournal } from '../../src/events/journal/verify.ts';
import { silentLog } from '../../src/lib/log.ts';
import { testEvent } from '../contracts/event-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

interface Setting {
  folder: string;
  keyPath: string;
  clock: ManualClock;
  told: Checkpoint[];
  open: (options?: { maximumFileSizeBytes?: number; retentionDays?: number }) => FileEventLog;
  checkpoints: () => Checkpoint[];
}

function setting(t: TestContext): Setting {
  const data = temporaryFolder(t);
  const [folder, keyPath, clock] = [join(data, 'journal'), join(data, 'journal.key'), new ManualClock()];
  const told: Checkpoint[] = [];
  const open: Setting['open'] = (options) =>
    new FileEventLog({
      folder,
      maximumFileSizeBytes: 1e6,
      clock,
      log: silentLog,
      evidence: { keyPath, onCheckpoint: (checkpoint) => told.push(checkpoint) },
      ...options,
    });
  const checkpoints = () => {
    const lines = readFileSync(join(folder, 'checkpoints.ndjson'), 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => parseCheckpoint(line) as Checkpoint);
  };
  return { folder, keyPath, clock, told, open, checkpoints };
}

/** Writes a journal of three segments with checkpoints in between, and closes it. */
async function threeSegments(t: TestContext): Promise<Setting> {
  const given = setting(t);
  const log = given.open({ maximumFileSizeBytes: 20_000 });
  for (let round = 1; round <= 6; round++) {
    for (let count = 0; count < 16; count++) log.append(testEvent());
    given.clock.advance(60_000);
    const { segment, offset } = log.end;
    await until('a checkpoint covers the end', () => given.checkpoints().some((one) => one.segment === segment && one.position === offset));
  }
  await log.close();
  assert.ok(segments(given.folder).length >= 3);
  return given;
}

function segments(folder: string): string[] {
  return readdirSync(folder).filter((name) => /^events-\d+\.ndjson$/.test(name));
}

const outcome = async (folder: string, more: Partial<Parameters<typeof verifyJournal>[0]> = {}) =>
  (await verifyJournal({ folder, ...more })).outcome;

test('a checkpoint has the SHA-256 of the previous checkpoint and of the bytes since, signed with the key', async (t) => {
  const given = await threeSegments(t);
  const key = createPublicKey(readFileSync(given.keyPath));
  let before: Checkpoint | undefined;
  for (const line of readFileSync(join(given.folder, 'checkpoints.ndjson'), 'utf8').trimEnd().split('\n')) {
    const checkpoint = JSON.parse(line) as Checkpoint;
    const from = before?.segment === checkpoint.segment ? before.position : 0;
    const bytes = readFileSync(join(given.folder, `events-0000000${checkpoint.segment}.ndjson`)).subarray(from, checkpoint.position);
    assert.equal(checkpoint.previous, before?.hash ?? '');
    assert.equal(checkpoint.hash, createHash('sha256').update(checkpoint.previous).update(bytes).digest('hex'));
    const signed = `${line.slice(0, line.indexOf(',"signature"'))}}`;
    assert.ok(verify(null, Buffer.from(signed), key, Buffer.from(checkpoint.signature, 'base64')));
    before = checkpoint;
  }
  assert.equal(before?.position, readFileSync(join(given.folder, segments(given.folder).at(-1) as string)).length, 'the end is covered');
  const result = await verifyJournal({ folder: given.folder, publicKey: key });
  assert.deepEqual([result.outcome, result.segments], ['whole', segments(given.folder).length]);
});

test('an idle journal writes no checkpoint; the event of a checkpoint causes none either', async (t) => {
  const given = setting(t);
  const log = given.open();
  log.append(testEvent());
  given.clock.advance(60_000);
  await until('the first checkpoint is reported', () => given.told.length === 1);
  log.append({ ...testEvent(), id: '20201' });
  given.clock.advance(60_000);
  given.clock.advance(60_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(given.told.length, 1);
  log.append(testEvent());
  given.clock.advance(60_000);
  await until('the next checkpoint is reported', () => given.told.length === 2);
  await log.close();
  assert.equal(await outcome(given.folder), 'whole');
  assert.equal(given.told.length, 2, 'closing the journal reports no further checkpoint');
});

test('each kind of damage is found and described, with its segment', async (t) => {
  const original = await threeSegments(t);
  const names = segments(original.folder);
  const second = names[1] as string;
  const checkpointLines = (folder: string) => readFileSync(join(folder, 'checkpoints.ndjson'), 'utf8').split('\n');
  const edit = (folder: string, name: string, change: (text: string) => string) =>
    writeFileSync(join(folder, name), change(readFileSync(join(folder, name), 'utf8')));
  const cutLine = (text: string, line: number) => text.split('\n').toSpliced(line, 1).join('\n');
  const other = await threeSegments(t);
  const damages: [name: string, damage: (folder: string) => void, found: RegExp, segment?: number][] = [
    ['a changed line', (folder) => edit(folder, second, (text) => text.replace('"id":', '"iD":')), /changed/, 2],
    ['a removed line', (folder) => edit(folder, second, (text) => cutLine(text, 3)), /removed/, 2],
    ['an added line', (folder) => edit(folder, second, (text) => `${text.split('\n')[0]}\n${text}`), /added/, 2],
    ['lines added at the end of a segment', (folder) => appendFileSync(join(folder, second), '{}\n'), /added after the end/, 2],
    ['a removed segment', (folder) => rmSync(join(folder, second)), /the segment is missing/, 2],
    ['the first segment removed', (folder) => rmSync(join(folder, names[0] as string)), /the segment is missing/, 1],
    [
      'two segments exchanged',
      (folder) => {
        renameSync(join(folder, second), join(folder, 'x'));
        renameSync(join(folder, names[0] as string), join(folder, second));
        renameSync(join(folder, 'x'), join(folder, names[0] as string));
      },
      /bytes/,
      1,
    ],
    ['a segment of another server', (folder) => copyFileSync(join(other.folder, second), join(folder, second)), /bytes/, 2],
    [
      'a cut end',
      (folder) => edit(folder, names.at(-1) as string, (text) => cutLine(text, text.split('\n').length - 2)),
      /removed|missing/,
      names.length,
    ],
    ['a checkpoint removed', (folder) => edit(folder, 'checkpoints.ndjson', (text) => cutLine(text, 2)), /does not follow/],
    [
      'the first checkpoints removed',
      (folder) => edit(folder, 'checkpoints.ndjson', (text) => cutLine(cutLine(text, 0), 0)),
      /that precede the one of .* are missing/,
    ],
    [
      'a checkpoint changed',
      (folder) => edit(folder, 'checkpoints.ndjson', (text) => text.replace(/"time":"\d/, '"time":"3')),
      /signature/,
    ],
    [
      'a line that is not a checkpoint',
      (folder) => edit(folder, 'checkpoints.ndjson', (text) => text.replace('{', '{"a":1,')),
      /is not a checkpoint/,
    ],
    [
      'checkpoints of another server',
      (folder) => copyFileSync(join(other.folder, 'checkpoints.ndjson'), join(folder, 'checkpoints.ndjson')),
      /another key/,
    ],
  ];
  for (const [name, damage, found, segment] of damages) {
    const folder = temporaryFolder(t);
    for (const file of readdirSync(original.folder)) copyFileSync(join(original.folder, file), join(folder, file));
    const publicKey = createPublicKey(readFileSync(original.keyPath));
    assert.equal(await outcome(folder, { publicKey }), 'whole');
    damage(folder);
    const result = await verifyJournal({ folder, publicKey });
    assert.equal(result.outcome, 'fault', name);
    assert.match(result.fault?.what ?? '', found, name);
    if (segment !== undefined) assert.equal(result.fault?.segment, segment, name);
  }
  // If the end was cut off with its checkpoints, only a witness can show it.
  const folder = temporaryFolder(t);
  for (const file of readdirSync(original.folder)) copyFileSync(join(original.folder, file), join(folder, file));
  const lines = checkpointLines(folder);
  const kept = original.checkpoints().at(-2) as Checkpoint;
  edit(folder, 'checkpoints.ndjson', () => `${lines.slice(0, -2).join('\n')}\n`);
  for (const name of names) {
    const number = Number(/\d+/.exec(name)?.[0]);
    if (number > kept.segment) rmSync(join(folder, name));
    else if (number === kept.segment) writeFileSync(join(folder, name), readFileSync(join(folder, name)).subarray(0, kept.position));
  }
  assert.equal(await outcome(folder), 'whole');
  const seen = await verifyJournal({ folder, witness: original.checkpoints() });
  assert.match(seen.fault?.what ?? '', /the end is missing: the witness/);
});

test('events that a killed process left without a checkpoint are covered by the next checkpoint, even after a torn line', async (t) => {
  const given = setting(t);
  const first = given.open();
  first.append(testEvent());
  given.clock.advance(60_000);
  await until('a checkpoint is reported', () => given.told.length === 1);
  first.append(testEvent());
  first.flushNow();
  // The first log is never closed, as after a kill.
  const path = join(given.folder, 'events-00000001.ndjson');
  appendFileSync(path, '{"torn');
  appendFileSync(join(given.folder, 'checkpoints.ndjson'), '{"segm');
  const undecided = await verifyJournal({ folder: given.folder });
  assert.equal(undecided.outcome, 'undecided');
  assert.equal(undecided.uncovered?.since, given.told[0]?.time);
  const next = given.open();
  next.append(testEvent());
  await next.close();
  assert.equal(await outcome(given.folder), 'whole');
  assert.ok(!readFileSync(path, 'utf8').includes('torn'));
});

test('retention announces the segments that it will remove, and removes their checkpoints with them', async (t) => {
  const given = await threeSegments(t);
  const [first] = segments(given.folder) as [string];
  const old = (given.clock.nowMs() - 40 * 86_400_000) / 1000;
  utimesSync(join(given.folder, first), old, old);
  const log = given.open({ maximumFileSizeBytes: 20_000, retentionDays: 30 });
  await until('the segment is removed', () => !existsSync(join(given.folder, first)));
  log.append(testEvent());
  await log.close();
  assert.equal(given.checkpoints().at(-1)?.removed_to, 1);
  assert.ok(given.checkpoints().every(({ segment }) => segment > 1));
  assert.equal(await outcome(given.folder), 'whole');
  rmSync(join(given.folder, segments(given.folder)[0] as string));
  assert.equal(await outcome(given.folder), 'fault', 'the absence of another segment is a fault');
});

test('a new key is announced by the old one; an unannounced key is refused', async (t) => {
  const given = setting(t);
  const log = given.open();
  log.append(testEvent());
  const old = createPublicKey(readFileSync(given.keyPath));
  const { privateKey } = generateKeyPairSync('ed25519');
  writeKey(nextKeyPath(given.keyPath), privateKey);
  given.clock.advance(60_000);
  await until('the key is accepted', () => !existsSync(nextKeyPath(given.keyPath)));
  log.append(testEvent());
  await log.close();
  assert.equal(given.checkpoints().at(-1)?.key, given.checkpoints().at(-2)?.next_key);
  for (const publicKey of [old, createPublicKey(privateKey)]) assert.equal(await outcome(given.folder, { publicKey }), 'whole');
  rmSync(given.keyPath);
  const another = given.open();
  another.append(testEvent());
  await another.close();
  const result = await verifyJournal({ folder: given.folder });
  assert.match(result.fault?.what ?? '', /a key that was not announced/);
  assert.ok(readKey(given.keyPath));
});

test('a journal that lost its checkpoints continues, but fails verification; a journal of an earlier version is undecided', async (t) => {
  const lost = await threeSegments(t);
  rmSync(join(lost.folder, 'checkpoints.ndjson'));
  const log = lost.open();
  log.append(testEvent());
  await log.close();
  assert.equal(await outcome(lost.folder), 'fault');

  const early = await threeSegments(t);
  for (const path of [join(early.folder, 'checkpoints.ndjson'), early.keyPath]) rmSync(path);
  assert.equal(await outcome(early.folder), 'undecided');
  const later = early.open();
  later.append(testEvent());
  await later.close();
  const result = await verifyJournal({ folder: early.folder });
  assert.equal(result.outcome, 'undecided');
  assert.equal(result.uncovered?.since, undefined);
});
