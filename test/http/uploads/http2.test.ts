import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { type ClientHttp2Stream, connect, type IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSigned } from '../../support/certificates.ts';
import { until } from '../../support/receiver.ts';
import { hasProgram } from '../../support/requires.ts';
import { testBasic } from '../../support/secrets.ts';
import { startServer } from '../../support/server.ts';

test('over HTTP/2, a 104 has the URL of the upload; data before a reset is kept, and a PATCH sends the rest', async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const { cert, certPath, keyPath } = selfSigned(t);
  const web = { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath };
  const server = await startServer(t, { services: { web } });
  const session = connect(server.url, { ca: cert });
  t.after(() => session.close());
  const content = randomBytes(200_000);
  const open = (head: Record<string, string>) => session.request({ authorization: testBasic, ...head });
  const reply = (stream: ClientHttp2Stream) => new Promise<IncomingHttpHeaders>((resolve) => stream.on('response', resolve));
  const first = open({
    ':method': 'PUT',
    ':path': '/home/a',
    'upload-draft-interop-version': '8',
    'upload-complete': '?1',
    'content-length': '200000',
  });
  first.on('error', () => {});
  const told = await new Promise<IncomingHttpHeaders>((resolve) => first.on('headers', resolve));
  assert.equal(Number(told[':status']), 104);
  assert.equal(told['upload-draft-interop-version'], '8');
  const url = String(told.location);
  first.write(content.subarray(0, 120_000));
  await until('the sent content has arrived', () =>
    readdirSync(server.home).some((name) => statSync(join(server.home, name)).size === 120_000),
  );
  first.close();
  const head = await reply(open({ ':method': 'HEAD', ':path': url }));
  const offset = Number(head['upload-offset']);
  assert.equal(offset, 120_000);
  const append = { 'upload-offset': String(offset), 'upload-complete': '?1', 'content-type': 'application/partial-upload' };
  const rest = open({ ':method': 'PATCH', ':path': url, ...append });
  rest.end(content.subarray(offset));
  assert.equal((await reply(rest))[':status'], 201);
  assert.deepEqual(readFileSync(join(server.home, 'a')), content);
});
