import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import { loginSftp } from '../../support/sftp-client.ts';
import type { SftpReply } from '../../support/sftp-requests.ts';
import type { RawSftp } from '../../support/sftp-session.ts';
import { fillDisk, smallDisk } from '../../support/small-disk.ts';
import { startSsh } from '../../support/ssh.ts';

const { read, write, create, truncate } = openFlags;
const { ok, permissionDenied } = statusCodes;
const isFull = { kind: 'status', code: statusCodes.failure, message: 'The disk is full.' };

/** Returns a reply without the ID of its request. */
async function told(replying: Promise<SftpReply>): Promise<Partial<SftpReply>> {
  const { id: _, ...reply } = await replying;
  return reply;
}

const closing = (client: RawSftp, handle: Buffer) => told(client.ask(packetTypes.close, (fields) => fields.bytes(handle)));

/** Sends six megabytes at once, and returns the first refusal of a WRITE. */
async function writeTooMuch(client: RawSftp, handle: Buffer, from = 0): Promise<Partial<SftpReply> | undefined> {
  const piece = Buffer.alloc(60_000, 1);
  const writing = Array.from({ length: 100 }, (_, index) =>
    told(
      client.ask(packetTypes.write, (fields) =>
        fields
          .bytes(handle)
          .uint64(from + index * piece.length)
          .bytes(piece),
      ),
    ),
  );
  const replies = await Promise.all(writing);
  return replies.find((reply) => reply.kind !== 'status' || reply.code !== ok);
}

test('on a full disk, WRITE and CLOSE fail with the reason, the old file stays, and nothing else is left', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startSsh(t, { copy_on_resume_limit: 100_000 }, { group: { home_folder_path: disk } });
  const { sftp } = await loginSftp(t, server.sshPort);
  await sftp.put('a', 'old');
  for (const flags of [write | create | truncate, write]) {
    const handle = await sftp.open('a', flags);
    assert.deepEqual(await writeTooMuch(sftp, handle), isFull);
    assert.equal(await sftp.write(handle, 0, 'x'), statusCodes.failure, 'the first failure stays');
    assert.equal(((await sftp.stat('a')) as { sizeBytes: number }).sizeBytes > 3, true, 'other requests are answered meanwhile');
    assert.deepEqual(await closing(sftp, handle), isFull);
    assert.deepEqual(readdirSync(disk), ['a']);
    assert.equal(readFileSync(join(disk, 'a'), 'utf8'), 'old');
  }
  // CLOSE copies the parts of `base` that were not written, and the disk has no space for both files.
  writeFileSync(join(disk, 'base'), Buffer.alloc(90_000, 'b'));
  fillDisk(join(disk, 'filler'));
  truncateSync(join(disk, 'filler'), 3_900_000);
  const patched = await sftp.open('base', write);
  assert.equal(await sftp.write(patched, 45_000, 'new'), ok);
  fillDisk(join(disk, 'filler2'));
  assert.deepEqual(await closing(sftp, patched), isFull);
  assert.deepEqual(readFileSync(join(disk, 'base')), Buffer.alloc(90_000, 'b'));
  for (const name of ['filler', 'filler2']) assert.equal(await sftp.onPath(packetTypes.remove, name), ok);
  // A file written in place keeps the part that fitted.
  writeFileSync(join(disk, 'large'), Buffer.alloc(200_000, 'l'));
  const inPlace = await sftp.open('large', write);
  assert.deepEqual(await writeTooMuch(sftp, inPlace, 200_000), isFull);
  assert.deepEqual(await closing(sftp, inPlace), isFull);
  assert.deepEqual(readFileSync(join(disk, 'large')).subarray(0, 200_000), Buffer.alloc(200_000, 'l'));
  assert.equal(await sftp.onPath(packetTypes.remove, 'large'), ok);
  const failed = (await server.events()).filter(({ id }) => id === '30042').map(({ data }) => [data.path, data.details, data.in_place]);
  assert.deepEqual(failed, [
    ['/a', 'The disk is full.', undefined],
    ['/a', 'The disk is full.', undefined],
    ['/base', 'The disk is full.', undefined],
    ['/large', 'The disk is full.', 'yes'],
  ]);
  await sftp.put('b', 'still works');
  assert.deepEqual(readdirSync(disk).sort(), ['a', 'b', 'base']);
});

test('if the disk of the journal is full, nothing is changed without its event, reads work, and the service recovers', async (t) => {
  const disk = smallDisk(t, 4000);
  if (!disk) return;
  const server = await startSsh(t, {}, { server: { data_folder_path: join(disk, 'data') } });
  const { sftp } = await loginSftp(t, server.sshPort);
  mkdirSync(join(server.home, 'd'));
  await sftp.put('a', 'old');
  const begun = await sftp.open('a', write | create | truncate);
  assert.equal(await sftp.write(begun, 0, 'begun before'), ok);
  fillDisk(join(disk, 'filler'));
  writeFileSync(join(server.home, 'c'), 'other');
  for (let count = 0; count < 20; count++) await sftp.close(await sftp.open('c', read));
  const refusal = async () =>
    told(
      sftp.ask(packetTypes.open, (fields) =>
        fields
          .text('new')
          .uint32(write | create)
          .attributes({}),
      ),
    );
  const reason = await refusal();
  assert.ok(reason.kind === 'status' && reason.code === statusCodes.failure);
  assert.match(reason.message ?? '', /cannot be recorded|journal|full/i);
  assert.deepEqual(await closing(sftp, begun), reason, 'an upload that was begun before fails, too');
  const codes = [
    await sftp.status(packetTypes.mkdir, (fields) => fields.text('made').attributes({})),
    await sftp.onPath(packetTypes.rmdir, 'd'),
    await sftp.onPath(packetTypes.remove, 'a'),
    await sftp.rename('a', 'b'),
    await sftp.status(packetTypes.setstat, (fields) => fields.text('a').attributes({ mode: 0o600 })),
  ];
  assert.ok(
    codes.every((code) => code !== ok && code !== permissionDenied),
    `${codes}`,
  );
  assert.deepEqual(readdirSync(server.home), ['a', 'c', 'd']);
  const handle = await sftp.open('a', read);
  assert.equal(String(await sftp.read(handle, 0, 100)), 'old');
  assert.equal(await sftp.close(handle), ok);
  truncateSync(join(disk, 'filler'), 0);
  await sleep(1100);
  await sftp.put('a', 'new');
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'new');
});
