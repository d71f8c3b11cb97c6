import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Upload, type UploadOptions } from 'tus-js-client';
import { testUser } from '../../support/secrets.ts';
import { startServer } from '../../support/server.ts';

const headers = { authorization: `Basic ${Buffer.from(testUser).toString('base64')}` };

/** Uploads by tus-js-client. @returns requests that it took */
function upload(content: Buffer, options: Partial<UploadOptions> & { endpoint: string; protocol?: string }): Promise<number> {
  let requests = 0;
  return new Promise((resolve, reject) => {
    const onBeforeRequest = () => {
      requests++;
    };
    new Upload(content, {
      headers,
      onBeforeRequest,
      onError: reject,
      onSuccess: () => resolve(requests),
      ...options,
    } as UploadOptions).start();
  });
}

/** A way to a server that cuts connections after some of the client's bytes, and now and then swallows what the server says. */
async function startCuttingProxy(t: TestContext, port: number, cuts: { afterBytes: number; swallows: boolean }[]) {
  const proxy = createServer((client) => {
    const cut = cuts.shift();
    let passedBytes = 0;
    const server = connect(port, '127.0.0.1');
    const end = () => {
      client.destroy();
      server.destroy();
    };
    client.on('error', end).on('close', () => server.destroy());
    server.on('error', end).on('close', () => client.destroy());
    client.on('data', (chunk: Buffer) => {
      server.write(chunk);
      passedBytes += chunk.length;
      if (cut && !cut.swallows && passedBytes >= cut.afterBytes) end();
    });
    server.on('data', (chunk: Buffer) => {
      // The server has said that it is done, and nobody hears it.
      if (cut?.swallows && passedBytes >= cut.afterBytes) end();
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.after(() => proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

test('tus-js-client uploads by tus and by both versions of the draft, in one piece and in many', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  const endpoint = `${server.url}/home/__svc__/uploads/`;
  const content = randomBytes(1_000_000);
  for (const protocol of ['tus-v1', 'ietf-draft-03', 'ietf-draft-05'])
    for (const options of [
      {},
      { chunkSize: 150_000 },
      { uploadDataDuringCreation: true },
      { uploadDataDuringCreation: true, chunkSize: 300_000 },
    ]) {
      const filename = `${protocol} ${Object.keys(options).join(' ')}.bin`;
      await upload(content, { endpoint, protocol, metadata: { filename, folder: '/in' }, ...options });
      assert.deepEqual(readFileSync(join(server.home, 'in', filename)), content, filename);
    }
  await upload(Buffer.alloc(0), { endpoint, metadata: { path: '/empty' } });
  assert.equal(readFileSync(join(server.home, 'empty')).length, 0);
  assert.equal((await server.events()).filter(({ id }) => id === '40017').length, 13);
  assert.equal(readdirSync(join(server.home, 'in')).length, 12);
});

test('a line that cuts connections and swallows replies costs no byte and no event', async (t) => {
  const server = await startServer(t);
  const content = randomBytes(3_000_000);
  for (const protocol of ['tus-v1', 'ietf-draft-03', 'ietf-draft-05']) {
    const cuts = [
      { afterBytes: 700_000, swallows: false },
      { afterBytes: 400_000, swallows: false },
      { afterBytes: 1, swallows: true },
      { afterBytes: 900_000, swallows: false },
      { afterBytes: 500_000, swallows: true },
    ];
    const url = await startCuttingProxy(t, server.port, cuts);
    const path = `/${protocol}`;
    const created = await server.send('POST', '/home/__svc__/uploads/', {
      headers: {
        'tus-resumable': '1.0.0',
        'upload-length': String(content.length),
        'upload-metadata': `path ${Buffer.from(path).toString('base64')}`,
      },
    });
    const uploadUrl = url + String(created.headers.location);
    const options = { endpoint: url, uploadUrl, protocol, retryDelays: Array.from({ length: 12 }, () => 50) };
    await upload(content, options);
    assert.equal(cuts.length, 0, 'all of them happened');
    assert.deepEqual(readFileSync(join(server.home, protocol)), content);
    const events = (await server.events()).filter(({ data }) => data.path === path);
    const count = (id: string) => events.filter((event) => event.id === id).length;
    assert.deepEqual([count('40021'), count('40017'), count('40022')], [1, 1, 0]);
    assert.ok(Number(events.at(-1)?.data.resumed) >= 2);
  }
});
