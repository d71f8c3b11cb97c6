import assert from 'node:assert/strict';
import { appendFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Grant } from '../../src/auth/grants/grant.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { makeSecret } from '../../src/lib/secrets.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { FileGrants } from '../../src/state/memory/grants.ts';
import { tokenOf } from '../contracts/grant-store.ts';
import { temporaryFolder } from '../support/temp.ts';

const count = 100_000;

/** Returns the duration of a step in milliseconds. */
async function timed(step: () => unknown): Promise<number> {
  const startedMs = performance.now();
  await step();
  return performance.now() - startedMs;
}

test('100,000 tokens are read in seconds, found quickly, use bounded memory, and their file is compacted', {
  timeout: 180_000,
}, async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'tokens-and-links.ndjson');
  const grants: Grant[] = Array.from({ length: count }, (_, index) =>
    tokenOf(`account${index % 1000}`, { paths: ['/in/orders' as VirtualPath], permissions: ['allow-read', 'allow-write'] }),
  );
  writeFileSync(path, grants.map((grant) => `${JSON.stringify(grant)}\n`).join(''));
  // Each token was used twice, and half of them are revoked.
  for (let start = 0; start < count; start += 10_000) {
    const lines = grants
      .slice(start, start + 10_000)
      .flatMap(({ id }, index) => [
        JSON.stringify({ id, used: { atMs: Date.now() - 120_000, address: '192.0.2.1' } }),
        JSON.stringify({ id, used: { atMs: Date.now() - 60_000, address: '192.0.2.2' } }),
        ...(index % 2 === 0 ? [JSON.stringify({ id, end: { reason: 'revoked', atMs: Date.now(), by: 'root' } })] : []),
      ]);
    appendFileSync(path, `${lines.join('\n')}\n`);
  }
  const writtenBytes = statSync(path).size;
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  let store = new FileGrants(folder, { clock: systemClock, log: silentLog });
  t.after(() => store.close());
  await store.close();
  const readMs = await timed(() => (store = new FileGrants(folder, { clock: systemClock, log: silentLog })));
  globalThis.gc?.();
  const heapBytes = process.memoryUsage().heapUsed - before;
  const foundMs = await timed(() => {
    for (const { hash, id } of grants) assert.equal(store.find(hash)?.id, id);
  });
  const strangers = Array.from({ length: 10_000 }, () => makeSecret('token').hash);
  const missedMs = await timed(() => {
    for (const hash of strangers) assert.equal(store.find(hash), undefined);
  });
  const addMs = await timed(() => store.add(tokenOf('account1'), 1000));
  const compactBytes = statSync(path).size;
  t.diagnostic(`read ${Math.round(readMs)} ms, heap ${Math.round(heapBytes / 1e6)} MB, ${count} found ${Math.round(foundMs)} ms`);
  t.diagnostic(`10,000 strangers ${Math.round(missedMs)} ms, file ${writtenBytes} to ${compactBytes} bytes in ${Math.round(addMs)} ms`);
  assert.ok(readMs < 20_000, `${readMs} ms to read them`);
  // A limit of 0.1 ms for each token allows for a busy machine. A linear search would exceed it.
  assert.ok(foundMs < count / 10 && missedMs < 1000, `${foundMs} ms, ${missedMs} ms`);
  assert.ok(heapBytes < 300e6, `${heapBytes} bytes`);
  assert.ok(compactBytes < writtenBytes, 'the first change rewrites the file');
  assert.equal(store.find(grants[0]?.hash ?? '')?.end?.reason, 'revoked');
  assert.equal(store.find(grants[1]?.hash ?? '')?.used?.address, '192.0.2.2');
});
