import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../../support/server.ts';
import { tusProtocols, uploadByTus } from '../../support/uploads-over-bad-line.ts';

test('tus-js-client uploads by tus and by both versions of the draft, in one piece and in many', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  const endpoint = `${server.url}/home/__svc__/uploads/`;
  const content = randomBytes(1_000_000);
  for (const protocol of tusProtocols)
    for (const options of [
      {},
      { chunkSize: 150_000 },
      { uploadDataDuringCreation: true },
      { uploadDataDuringCreation: true, chunkSize: 300_000 },
    ]) {
      const filename = `${protocol} ${Object.keys(options).join(' ')}.bin`;
      await uploadByTus(content, { endpoint, protocol, metadata: { filename, folder: '/in' }, ...options });
      assert.deepEqual(readFileSync(join(server.home, 'in', filename)), content, filename);
    }
  await uploadByTus(Buffer.alloc(0), { endpoint, metadata: { path: '/empty' } });
  assert.equal(readFileSync(join(server.home, 'empty')).length, 0);
  assert.equal((await server.events()).filter(({ id }) => id === '40017').length, 13);
  assert.equal(readdirSync(join(server.home, 'in')).length, 12);
});
