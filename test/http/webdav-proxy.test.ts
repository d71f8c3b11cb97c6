import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '../support/client.ts';
import { publicHost, startNginx } from '../support/nginx.ts';
import { runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { tlsProxies } from '../support/tls-proxies.ts';

for (const [name, { program, start }] of Object.entries(tlsProxies))
  test(`behind ${name} with TLS: Destination, origin, names and addresses are understood as the client means them`, {
    timeout: 60_000,
  }, async (t) => {
    if (!hasProgram(t, program) || !hasProgram(t, 'openssl')) return;
    const server = await startServer(t, {
      service: { accepted_origins: [`https://${publicHost}`], client_forwarded_header: 'X-Forwarded-For' },
    });
    const { url, ca } = await start(t, server.url);
    const client = new Client(url);
    const { port } = new URL(url);
    const asPublic = { host: publicHost };
    writeFileSync(join(server.home, 'a'), 'A');
    const copy = async (destination: string, headers: Record<string, string> = asPublic) =>
      (await client.send('COPY', '/home/a', { ca, headers: { ...headers, destination } })).status;
    assert.equal(await copy(`https://${publicHost}/home/1`), 201);
    assert.equal(await copy(`https://${publicHost}:443/home/2`), 201);
    assert.equal(await copy(`http://${publicHost}/home/3`), 201);
    assert.equal(await copy('/home/4'), 201);
    assert.equal(await copy(`https://127.0.0.1:${port}/home/5`, {}), 201, 'the name that the client used');
    assert.equal(await copy('https://elsewhere.example/home/6'), 502);
    assert.equal(await copy(`https://${publicHost}.elsewhere.example/home/6`), 502);
    assert.deepEqual(readdirSync(server.home).toSorted(), ['1', '2', '3', '4', '5', 'a']);

    const origin = async (value: string) =>
      (await client.send('MKCOL', `/home/${new URL(value).host}/`, { ca, headers: { ...asPublic, origin: value } })).status;
    assert.equal(await origin(`https://${publicHost}`), 201);
    assert.equal(await origin('https://evil.example'), 400);

    for (const file of ['a b', '100%', '#?', 'ü漢', 'a%2Fb']) {
      const target = `/home/${encodeURIComponent(file)}`;
      assert.equal((await client.put(target, file, { ca, headers: asPublic })).status, 201, file);
      const moved = await client.send('MOVE', target, {
        ca,
        headers: { ...asPublic, destination: `https://${publicHost}/home/to-${encodeURIComponent(file)}` },
      });
      assert.equal(moved.status, 201, file);
      assert.equal(readFileSync(join(server.home, `to-${file}`), 'utf8'), file);
    }
    const forged = await client.put('/home/forged', 'x', { ca, headers: { ...asPublic, 'x-forwarded-for': '203.0.113.9' } });
    assert.equal(forged.status, 201);
    const [last] = (await server.events()).reverse();
    assert.equal(last?.account.peer.address, '127.0.0.1');

    const large = Buffer.alloc(8 * 1024 * 1024, 'x');
    assert.equal((await client.put('/home/large', large, { ca })).status, 201);
    assert.ok((await client.get('/home/large', { ca })).body.equals(large));
  });

test('behind nginx, requests to the public name work over HTTP/2', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'nginx') || !hasProgram(t, 'openssl') || !hasProgram(t, 'curl')) return;
  const server = await startServer(t, { service: { accepted_origins: [`https://${publicHost}`] } });
  const { url } = await startNginx(t, server.url);
  const { port } = new URL(url);
  const cwd = temporaryFolder(t);
  // curl uses the public name, https and HTTP/2; only the address is replaced.
  const curl = (...args: string[]) =>
    runProgram('curl', ['-sk', '--http2', '--connect-to', `${publicHost}:443:127.0.0.1:${port}`, '-u', testUser, ...args], { cwd });
  writeFileSync(join(cwd, 'f'), 'content');
  const base = `https://${publicHost}/home`;
  assert.equal((await curl('-o', 'body', '-w', '%{http_code} %{http_version}', '-T', 'f', `${base}/f`)).output, '201 2');
  assert.equal((await curl('-o', 'body', '-w', '%{http_code}', '-X', 'MOVE', '-H', `Destination: ${base}/g`, `${base}/f`)).output, '201');
  assert.match((await curl('-X', 'PROPFIND', '-H', 'Depth: 1', `${base}/`)).output, /<D:href>\/home\/g<\/D:href>/);
});

test('a forwarded host is used only if client_forwarded_header is configured', async (t) => {
  for (const [options, status] of [
    [{}, 502],
    [{ client_forwarded_header: 'X-Forwarded-For' }, 201],
  ] as const) {
    const server = await startServer(t, { service: options });
    writeFileSync(join(server.home, 'a'), 'A');
    for (const headers of [{ 'x-forwarded-host': 'public.example' }, { forwarded: 'for=192.0.2.1;host="public.example:443"' }]) {
      const reply = await server.send('COPY', '/home/a', {
        headers: { ...headers, destination: `https://public.example/home/${status}-${Object.keys(headers)[0]}` },
      });
      assert.equal(reply.status, status);
    }
  }
});
