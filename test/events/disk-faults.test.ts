import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keyName } from '../../src/events/journal/checkpoints.ts';
import { nextKeyPath, writeKey } from '../../src/events/journal/evidence.ts';
import { journalFolder, journalKeyPath } from '../../src/events/journal/file-event-log.ts';
import { verifyJournal } from '../../src/events/journal/verify.ts';
import type { Client } from '../support/client.ts';
import { startOnFailingDisk } from '../support/failing-server.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Writes events until the journal has a number of files, or until time is up. */
async function fill(client: Client, journal: string, files: number, forMs = 20_000): Promise<void> {
  for (const endMs = Date.now() + forMs; segments(journal) < files && Date.now() < endMs; )
    await client.put('/home/a', 'x', { mayFail: true });
}

const segments = (folder: string) => readdirSync(folder).filter((name) => /^events-\d+\.ndjson$/.test(name)).length;

test('a journal file whose fstat fails is closed; a checkpoint or key that cannot be written does not break the chain of checkpoints', async (t) => {
  const { client, whileFailing, openPaths, folder, stop } = await startOnFailingDisk(t, temporaryFolder(t), {
    server: { events: { maximum_file_size: 65_536 } },
  });
  const journal = journalFolder(join(folder, 'data'));
  await whileFailing('fstatSync events-00000002', () => fill(client, journal, 3, 4000));
  assert.ok(openPaths().filter((path) => path.includes('events-00000002.ndjson')).length <= 1);
  await fill(client, journal, 2);
  await whileFailing('fdatasyncSync checkpoints', async () => {
    await fill(client, journal, segments(journal) + 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  const { privateKey } = generateKeyPairSync('ed25519');
  writeKey(nextKeyPath(journalKeyPath(join(folder, 'data'))), privateKey);
  await whileFailing('renameSync journal.key.next', async () => {
    await fill(client, journal, segments(journal) + 1);
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  await stop();
  const { outcome, fault, keys } = await verifyJournal({ folder: journal });
  assert.equal(outcome, 'whole', JSON.stringify(fault));
  assert.equal(keys.at(-1), keyName(privateKey));
});

test('a checkpoint about removed files that cannot be synced does not break the chain of checkpoints', async (t) => {
  const { client, whileFailing, folder, stop } = await startOnFailingDisk(t, temporaryFolder(t), {
    server: { events: { maximum_file_size: 65_536 } },
  });
  const journal = journalFolder(join(folder, 'data'));
  await fill(client, journal, 2);
  const first = 'events-00000001.ndjson';
  const longAgo = new Date(Date.now() - 100 * 86_400_000);
  utimesSync(join(journal, first), longAgo, longAgo);
  await whileFailing(`fsync ${journal}$`, async () => {
    await fill(client, journal, 3);
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  await fill(client, journal, segments(journal) + 1);
  await until('the old file is removed', () => !readdirSync(journal).includes(first));
  await stop();
  const { outcome, fault } = await verifyJournal({ folder: journal });
  assert.equal(outcome, 'whole', JSON.stringify(fault));
});
