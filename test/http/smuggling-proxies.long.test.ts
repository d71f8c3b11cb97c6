import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Client } from '../support/client.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { assertNothingHidden, honest, statuses, tricks } from '../support/smuggled-requests.ts';
import { tlsProxies } from '../support/tls-proxies.ts';

async function behind(t: TestContext, name: string): Promise<{ server: TestServer; client: Client } | undefined> {
  const proxy = tlsProxies[name];
  if (!proxy || !hasProgram(t, proxy.program) || !hasProgram(t, 'openssl')) return undefined;
  const server = await startServer(t, { service: { client_forwarded_header: 'X-Forwarded-For' } });
  return { server, client: new Client((await proxy.start(t, server.url, true)).url) };
}

for (const name of ['nginx', 'HAProxy']) {
  test(`behind ${name}: no trick makes a hidden request, and every client gets its own reply`, { timeout: 60_000 }, async (t) => {
    const both = await behind(t, name);
    if (!both) return;
    const { server, client } = both;
    for (const [what, bytes] of Object.entries(tricks)) {
      const reply = await client.raw(Buffer.from(bytes, 'latin1'), 500);
      // If the proxy also saw two requests, the second is not hidden: nginx accepts a bare LF as a line end.
      if (statuses(reply).length < 2) assertNothingHidden(server, `${what}: ${reply}`);
      rmSync(join(server.home, 'smuggled'), { force: true });
      rmSync(join(server.home, 'a'), { force: true });
      // The next request on a connection that the proxy keeps open gets its own reply.
      const next = `next-${what.replaceAll(' ', '-')}`;
      assert.equal((await client.put(`/home/${next}`, what)).status, 201, what);
      assert.equal((await client.get(`/home/${next}`)).text, what);
    }
    assert.deepEqual(statuses(await client.raw(honest, 300)), ['201', '200']);
  });

  test(`behind ${name}: a client address that the client itself claims is ignored`, { timeout: 60_000 }, async (t) => {
    const both = await behind(t, name);
    if (!both) return;
    const { server, client } = both;
    const forged = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-host': 'evil.example', X_Forwarded_For: '203.0.113.9' };
    assert.equal((await client.put('/home/a', 'x', { headers: forged })).status, 201);
    const event = (await server.events()).findLast(({ id }) => id === '40017');
    assert.equal(event?.account.peer.address, '127.0.0.1');
    assert.equal((await client.send('COPY', '/home/a', { headers: { ...forged, destination: 'http://evil.example/home/b' } })).status, 502);
  });
}
