import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openFlags, packetTypes, statusCodes } from '../../../src/ssh/sftp/packets/packets.ts';
import { testSession } from '../../support/sftp-session.ts';

const { ok, noSuchFile } = statusCodes;
const { read, write, create, truncate } = openFlags;
const times = { accessedS: 1_000_000_000, modifiedS: 1_100_000_000 };

test('if WRITE, FSETSTAT of size and times, and CLOSE arrive together, the file has this size and these times', async (t) => {
  const { client, home } = testSession(t);
  const handle = await client.open('f', write | create | truncate);
  const replies = await Promise.all([
    client.write(handle, 0, 'content and more'),
    client.status(packetTypes.fsetstat, (fields) => fields.bytes(handle).attributes({ sizeBytes: 7, times })),
    client.close(handle),
  ]);
  assert.deepEqual(replies, [ok, ok, ok]);
  assert.equal(readFileSync(join(home, 'f'), 'utf8'), 'content');
  assert.equal(statSync(join(home, 'f')).mtimeMs, times.modifiedS * 1000);
});

test('if WRITE, SETSTAT, RENAME, STAT and CLOSE arrive together, the renamed file has the times of SETSTAT', async (t) => {
  const { client, home } = testSession(t);
  const handle = await client.open('f', write | create | truncate);
  const replies = await Promise.all([
    client.write(handle, 0, 'content and more'),
    client.status(packetTypes.setstat, (fields) => fields.text('f').attributes({ sizeBytes: 7, times })),
    client.rename('f', 'g'),
    client.stat('g'),
    client.onPath(packetTypes.stat, 'f'),
    client.close(handle),
  ]);
  const stat = replies.splice(3, 1)[0];
  assert.deepEqual(replies, [ok, ok, ok, noSuchFile, ok]);
  assert.ok(typeof stat === 'object' && stat.sizeBytes === 7, JSON.stringify(stat));
  assert.deepEqual(readdirSync(home), ['g']);
  assert.equal(statSync(join(home, 'g')).mtimeMs, times.modifiedS * 1000);
});

test('a copy and a hash that arrive together with the CLOSE of their file are done before the CLOSE', async (t) => {
  const { client, home } = testSession(t);
  const content = Buffer.alloc(3_000_000, 'x');
  writeFileSync(join(home, 'from'), content);
  const from = await client.open('from', read);
  const to = await client.open('to', read | write | create | truncate);
  const replies = await Promise.all([
    client.status(packetTypes.extended, (fields) => fields.text('copy-data').bytes(from).uint64(0).uint64(0).bytes(to).uint64(0)),
    client.close(from),
    client.write(to, 3_000_000, 'end'),
    client.ask(packetTypes.extended, (fields) => fields.text('check-file').bytes(to).text('sha256').uint64(0).uint64(0).uint32(0)),
    client.close(to),
  ]);
  const [hash] = replies.splice(3, 1);
  assert.ok(typeof hash === 'object' && hash.kind === 'extended', JSON.stringify(hash));
  assert.deepEqual(replies, [ok, ok, ok, ok]);
  assert.ok(readFileSync(join(home, 'to')).equals(Buffer.concat([content, Buffer.from('end')])));
});
