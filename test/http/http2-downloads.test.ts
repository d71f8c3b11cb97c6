import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { selfSigned } from '../support/certificates.ts';
import { clockAhead, whereFilesAreKept } from '../support/kept-files.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { testBasic } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

/** Sizes below and above the limit for sending in one piece. */
const sizes = [0, 1, 1024, 8 * 1024 + 1, 128 * 1024, 128 * 1024 + 1, 3_000_000];

async function startWithHttp2(t: TestContext, fileCacheBytes: number) {
  const { certPath, keyPath, cert } = selfSigned(t);
  const service = { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath };
  const server = await startServer(t, { services: { web: service }, server: { file_cache_size: fileCacheBytes } }, clockAhead);
  const session = connectHttp2(server.url, { ca: cert });
  t.after(() => session.destroy());
  return { server, session };
}

async function download(session: ClientHttp2Session, path: string, headers: Record<string, string> = {}) {
  const stream = session.request({ ':path': path, authorization: testBasic, ...headers });
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [head] = await once(stream, 'response');
  await once(stream, 'end');
  return { head, body: Buffer.concat(chunks) };
}

for (const [where, fileCacheBytes] of [
  ['from memory', 1_000_000],
  ['from the disk', 0],
] as const) {
  test(`a download over HTTP/2 ${where} is reported as complete`, whereFilesAreKept, async (t) => {
    if (!hasProgram(t, 'openssl')) return;
    const { server, session } = await startWithHttp2(t, fileCacheBytes);
    const range = { range: 'bytes=0-0,-2' };
    let asked = 0;
    for (const size of sizes) {
      const content = Buffer.alloc(size, 'svc');
      writeFileSync(join(server.home, `f${size}`), content);
      for (const headers of [{}, {}, ...(size > 2 ? [range] : [])]) {
        const { head, body } = await download(session, `/home/f${size}`, headers);
        asked++;
        if (headers === range) assert.deepEqual([head[':status'], body.includes('Content-Range')], [206, true]);
        else assert.deepEqual([head[':status'], head['content-length'], body.equals(content)], [200, String(size), true]);
      }
    }
    const many = await Promise.all(Array.from({ length: 20 }, () => download(session, '/home/f1024')));
    assert.ok(many.every(({ body }) => body.length === 1024));
    const told = async (id: string) => (await server.events()).filter((event) => event.id === id).length;
    await until('all are reported', async () => (await told('40039')) + (await told('40040')) === asked + 20);
    assert.deepEqual([await told('40039'), await told('40040'), await told('40018')], [asked + 20, 0, 0]);
  });
}

test('a download over HTTP/2 is reported as cut if its client resets it or disappears', whereFilesAreKept, async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { server, session } = await startWithHttp2(t, 1_000_000);
  // The first response fills the window and is not read, so the second waits forever.
  writeFileSync(join(server.home, 'f'), Buffer.alloc(100_000, 'svc'));
  const stalled = () => session.request({ ':path': '/home/f', authorization: testBasic });
  for (const leave of [(stream: ReturnType<typeof stalled>) => stream.close(8), () => session.destroy()]) {
    const stream = stalled();
    stream.on('error', () => {});
    stream.pause();
    await once(stream, 'response');
    leave(stream);
  }
  const told = async (id: string) => (await server.events()).filter((event) => event.id === id).length;
  await until('all are reported', async () => (await told('40018')) === 2);
  assert.deepEqual([await told('40040'), await told('40039')], [2, 0]);
});
