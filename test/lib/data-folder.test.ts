import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openDataFolder } from '../../src/lib/disk/data-folder.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { temporaryFolder } from '../support/temp.ts';

// This file is also the program of the child processes: SVC_TEST_DATA_FOLDER is the folder that they lock.
const childFolder = process.env.SVC_TEST_DATA_FOLDER;

/** Tries to lock the folder once, prints the result, and holds the lock until stdin ends. */
function tryToHold(folder: string): void {
  process.stdin.once('data', () => {
    try {
      openDataFolder(folder);
      process.stdout.write('won\n');
    } catch (error) {
      process.stdout.write(`${isServiceError(error, 'unavailable') && error.details.pid ? 'lost' : error}\n`);
    }
  });
  process.stdout.write('ready\n');
  process.stdin.on('end', () => process.exit());
}

interface Contender {
  said(): string[];
  go(): void;
  kill(): Promise<unknown>;
  pid: number;
}

function startContender(folder: string): Contender {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    env: { ...env, SVC_TEST_DATA_FOLDER: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  const ended = new Promise((resolve) => child.on('close', resolve));
  return {
    said: () => text.split('\n').slice(0, -1),
    go: () => child.stdin.write('go\n'),
    kill: () => {
      child.kill('SIGKILL');
      return ended;
    },
    pid: child.pid ?? 0,
  };
}

/** The lock of a process that does not exist: its ID exceeds the maximum of Linux. */
const dead = JSON.stringify({ pid: 2 ** 22 + 1, started: '1' });

/** Returns the path of the lock that a process takes before it removes the given one. */
function rightToRemove(lockPath: string): string {
  const { ino, mtimeNs } = statSync(lockPath, { bigint: true });
  const text = readFileSync(lockPath, 'utf8');
  return `${lockPath}.${createHash('sha256').update(`${ino} ${mtimeNs} ${text}`).digest('hex').slice(0, 16)}`;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

if (childFolder !== undefined) tryToHold(childFolder);
else registerTests();

function registerTests(): void {
  test('the folder is created for its owner only, and keeps the server UUID', (t) => {
    const folder = join(temporaryFolder(t), 'a/data');
    const first = openDataFolder(folder);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    const uuid = first.serverUuid();
    assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.equal(first.serverUuid(), uuid);
    first.release();
    const second = openDataFolder(folder);
    assert.equal(second.serverUuid(), uuid);
    second.release();
    assert.deepEqual(readdirSync(folder), ['form', 'server-uuid']);
  });

  test('a second server on the folder is refused with the process ID of the first, also through a symlink', (t) => {
    const base = temporaryFolder(t);
    const held = openDataFolder(join(base, 'data'));
    symlinkSync('data', join(base, 'link'));
    for (const name of ['data', 'link']) {
      assert.throws(
        () => openDataFolder(join(base, name)),
        (error) => isServiceError(error, 'unavailable') && error.details.pid === process.pid,
      );
    }
    assert.deepEqual(readdirSync(join(base, 'data')), ['form', 'svc.pid']);
    held.release();
  });

  test('an error about a path that cannot be a folder names the path', (t) => {
    const base = temporaryFolder(t);
    writeFileSync(join(base, 'file'), '');
    assert.throws(
      () => openDataFolder(join(base, 'file')),
      (error) => isServiceError(error, 'unavailable') && error.message.includes(join(base, 'file')),
    );
  });

  test('an error about a folder of another account names its owner and the account of svc', {
    skip: process.geteuid?.() !== 0 && 'needs root',
  }, (t) => {
    const base = temporaryFolder(t);
    chmodSync(base, 0o755);
    mkdirSync(join(base, 'data'), { mode: 0o700 });
    process.seteuid?.(65534);
    try {
      const message = (folder: string, refusing: string, mode: string) =>
        `The data folder ${folder} cannot be used: permission denied: ${refusing} belongs to root:root with mode ${mode}, and svc runs as "nobody"; change its owner or mode.`;
      const [data, absent] = [join(base, 'data'), join(base, 'absent')];
      assert.throws(() => openDataFolder(data), { code: 'unavailable', message: message(data, data, '0700') });
      assert.throws(() => openDataFolder(absent), { code: 'unavailable', message: message(absent, base, '0755') });
    } finally {
      process.seteuid?.(0);
    }
  });

  test('locks with a reused process ID, damaged locks, and locks whose takeover a dead process began are taken over', (t) => {
    // The ID of this process, but with another start time.
    const reused = `${JSON.stringify({ pid: process.pid, started: '1' })}\n`;
    const contents = [reused, '', '{"pid":', 'null', '{"pid":0,"started":""}', '{"pid":1.5,"started":""}', dead];
    for (const content of contents) {
      const folder = temporaryFolder(t);
      writeFileSync(join(folder, 'svc.pid'), content);
      openDataFolder(folder).release();
      assert.deepEqual(readdirSync(folder), ['form'], JSON.stringify(content));
    }
    const folder = temporaryFolder(t);
    let path = join(folder, 'svc.pid');
    writeFileSync(path, reused);
    for (let depth = 0; depth < 2; depth++) {
      path = rightToRemove(path);
      writeFileSync(path, reused);
    }
    openDataFolder(folder).release();
    assert.deepEqual(readdirSync(folder), ['form']);
  });

  test('of six processes that start together, exactly one gets the folder, even with an old lock', { timeout: 60_000 }, async (t) => {
    const base = temporaryFolder(t);
    for (let round = 0; round < 2; round++) {
      const folder = join(base, String(round));
      mkdirSync(folder);
      if (round > 0) writeFileSync(join(folder, 'svc.pid'), dead);
      const contenders = Array.from({ length: 6 }, () => startContender(folder));
      t.after(() => Promise.all(contenders.map((contender) => contender.kill())));
      await until(() => contenders.every((contender) => contender.said().length === 1));
      for (const contender of contenders) contender.go();
      await until(() => contenders.every((contender) => contender.said().length === 2));
      const results = contenders.map((contender) => contender.said()[1]);
      assert.deepEqual(results.toSorted(), ['lost', 'lost', 'lost', 'lost', 'lost', 'won']);
      const winner = contenders[results.indexOf('won')];
      assert.equal(JSON.parse(readFileSync(join(folder, 'svc.pid'), 'utf8')).pid, winner?.pid);
      assert.throws(
        () => openDataFolder(folder),
        (error) => isServiceError(error, 'unavailable') && error.details.pid === winner?.pid,
      );
      await winner?.kill();
      openDataFolder(folder).release();
      await Promise.all(contenders.map((contender) => contender.kill()));
    }
  });
}
