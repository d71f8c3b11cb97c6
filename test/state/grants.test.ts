import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { FileGrants } from '../../src/state/memory/grants.ts';
import { grantStoreContract, tokenOf } from '../contracts/grant-store.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { temporaryFolder } from '../support/temp.ts';

const open = (folder: string) => new FileGrants(folder, { clock: systemClock, log: silentLog });

grantStoreContract('grants in files', async (t) => {
  const folder = temporaryFolder(t);
  let store = open(folder);
  t.after(() => store.close());
  const reopen = async () => {
    await store.close();
    store = open(folder);
    return store;
  };
  return { store, reopen };
});

test('the file of grants is rewritten before it grows much larger than its content, and only its owner can read it', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'tokens-and-links.ndjson');
  const store = open(folder);
  const grant = tokenOf('alice');
  const link = tokenOf('alice', { kind: 'link' });
  await store.add(grant, 10);
  await store.add(link, 10);
  await store.end([grant.id], 'revoked', 'alice');
  for (let count = 0; count < 25; count++) await Promise.all(Array.from({ length: 100 }, () => store.countDownload(link.id)));
  assert.ok(readFileSync(path, 'utf8').split('\n').length < 2000);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await store.close();
  const next = open(folder);
  assert.equal(next.get(link.id)?.downloads, 2500);
  assert.equal(next.get(grant.id)?.end?.reason, 'revoked');
  await next.close();
});

test('a visitor counts again after an hour', async (t) => {
  const clock = new ManualClock();
  const store = new FileGrants(temporaryFolder(t), { clock, log: silentLog });
  const link = tokenOf('alice', { kind: 'link' });
  await store.add(link, 10);
  const visits = [];
  for (const passedMs of [0, 3_599_999, 1]) {
    clock.advance(passedMs);
    visits.push(await store.countVisit(link.id, '192.0.2.1'));
  }
  assert.deepEqual(visits, [true, false, true]);
  await store.close();
});

test('a line that a crash tore is cut off, and a line that cannot be read affects no other', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'tokens-and-links.ndjson');
  const store = open(folder);
  const grants = [tokenOf('alice'), tokenOf('alice'), tokenOf('alice')] as const;
  await store.add(grants[0], 10);
  await store.close();
  appendFileSync(path, `not JSON\n{"id":1,"hash":2}\n${JSON.stringify(grants[1]).slice(0, 50)}`);
  const second = open(folder);
  assert.equal(second.get(grants[1].id), undefined);
  await second.add(grants[2], 10);
  await second.close();
  const third = open(folder);
  assert.deepEqual(third.get(grants[0].id), grants[0]);
  assert.deepEqual(third.get(grants[2].id), grants[2]);
  await third.close();
});

test('a grant that was not added because the file could not be rewritten is still absent after the next write', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'tokens-and-links.ndjson');
  // Changes of an unknown grant have no effect, but count as lines, so the next write rewrites the file.
  appendFileSync(path, '{"id":"unknown","expiresMs":1}\n'.repeat(1100), { mode: 0o600 });
  const store = open(folder);
  const [lost, added] = [tokenOf('alice'), tokenOf('alice')];
  mkdirSync(`${path}.new`);
  await assert.rejects(store.add(lost, 10), { code: 'internal' });
  rmdirSync(`${path}.new`);
  await store.add(added, 10);
  await store.close();
  const next = open(folder);
  assert.deepEqual([next.get(lost.id), next.get(added.id)?.id], [undefined, added.id]);
  await next.close();
});
