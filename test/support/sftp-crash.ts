import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { start } from './child.ts';
import { readEvents } from './journal.ts';
import { writeConfig } from './server.ts';
import { loginSftp, type SftpLogin } from './sftp-client.ts';
import { temporaryFolder } from './temp.ts';

const contentBytes = 400_000;
const pieceBytes = 32_768;

function contentOf(name: string, version: number): Buffer {
  return Buffer.alloc(contentBytes, createHash('sha256').update(`${name} ${version}`).digest());
}

interface Versions {
  confirmed: number;
  /** The last confirmed version, 0 for none, and the last version whose upload began. */
  last: number;
  begun: number;
}

/**
 * Kills a server repeatedly during uploads over SFTP. Asserts that each file has its complete old or new content, that nothing is left
 * behind, and that every confirmed upload is in the journal.
 *
 * @returns the number of confirmed uploads
 */
export async function killDuringUploads(t: TestContext, { rounds, clients }: { rounds: number; clients: number }): Promise<number> {
  const folder = temporaryFolder(t);
  const files = join(folder, 'home');
  await writeConfig(folder, { services: { sftp: { type: 'ssh', port: 0 } } });
  const versions = new Map<string, Versions>(
    Array.from({ length: clients }, (_, index) => [`file${index}`, { confirmed: 0, last: 0, begun: 0 }] as const),
  );
  for (let round = 0; round <= rounds; round++) {
    const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
    const [, port = ''] = await server.line(/listening on sftp:\/\/[^:]+:(\d+)/);
    assertWhole(files, versions, `round ${round}`);
    if (round === rounds) {
      server.child.kill('SIGTERM');
      assert.equal((await server.ended).code, 0);
      break;
    }
    let uploading: Promise<void>[] = [];
    let isOver = false;
    await new Promise<void>((resolve) => {
      const client = { port: Number(port), isOver: () => isOver, onConfirmed: resolve };
      uploading = [...versions].map(([name, of]) => overwrite(t, client, name, of));
    });
    // The pause begins after the first complete upload, and differs in each round, so that the kill meets uploads at different moments.
    await sleep((round * 137) % 700);
    isOver = true;
    server.child.kill('SIGKILL');
    await Promise.all([server.ended, ...uploading]);
  }
  const uploads = new Map<string, number>();
  for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, (bad) => assert.fail(bad.reason)))
    if (event.id === '30068') uploads.set(String(event.data.path), (uploads.get(String(event.data.path)) ?? 0) + 1);
  let confirmed = 0;
  for (const [name, of] of versions) {
    assert.ok((uploads.get(`/${name}`) ?? 0) >= of.confirmed, `${name}: ${uploads.get(`/${name}`)} events of ${of.confirmed} uploads`);
    confirmed += of.confirmed;
  }
  return confirmed;
}

/** Asserts that each file has one complete version. The next round begins with the current versions. */
function assertWhole(folder: string, versions: ReadonlyMap<string, Versions>, when: string): void {
  const hidden = readdirSync(folder).filter((name) => name.startsWith('.'));
  assert.deepEqual(hidden, [], `${when}: nothing is left behind`);
  for (const [name, of] of versions) {
    const path = join(folder, name);
    if (!existsSync(path)) {
      assert.equal(of.confirmed, 0, `${when}: ${name} is gone`);
      continue;
    }
    const found = readFileSync(path);
    const isOne = found.equals(contentOf(name, of.begun)) || found.equals(contentOf(name, of.last));
    assert.ok(isOne, `${when}: ${name} has neither the old nor the new content`);
    of.last = found.equals(contentOf(name, of.begun)) ? of.begun : of.last;
  }
}

/** Uploads one version after the other until the connection ends. */
async function overwrite(
  t: TestContext,
  { port, isOver, onConfirmed }: { port: number; isOver: () => boolean; onConfirmed: () => void },
  name: string,
  of: Versions,
): Promise<void> {
  let login: SftpLogin | undefined;
  // The server limits the number of simultaneous logins from one address.
  while (!login && !isOver()) login = await loginSftp(t, port).catch(() => sleep(100).then(() => undefined));
  if (!login) return;
  const { sftp, ended } = login;
  const { write, create, truncate } = openFlags;
  const upload = async () => {
    for (;;) {
      const content = contentOf(name, of.begun + 1);
      const handle = await sftp.open(name, write | create | truncate);
      of.begun++;
      const codes = [];
      for (let at = 0; at < content.length; at += pieceBytes) codes.push(sftp.write(handle, at, content.subarray(at, at + pieceBytes)));
      assert.deepEqual(new Set(await Promise.all(codes)), new Set([0]));
      assert.equal(await sftp.close(handle), 0);
      of.confirmed++;
      of.last = of.begun;
      onConfirmed();
    }
  };
  await Promise.race([upload(), ended]);
}
