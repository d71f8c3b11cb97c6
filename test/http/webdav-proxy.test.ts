import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Client } from '../support/client.ts';
import { runProgram } from '../support/program.ts';
import { hasProgram } from '../support/requires.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const publicHost = 'files.example.com';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts nginx with the example's configuration; only ports, paths and the certificate are put in. */
async function startNginx(t: TestContext, upstream: string): Promise<{ url: string; ca: string }> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      `/CN=${publicHost}`,
      '-addext',
      `subjectAltName=DNS:${publicHost},IP:127.0.0.1`,
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'pipe' },
  );
  const example = readFileSync(join(process.env.SVC_ROOT ?? '.', 'examples/operations/nginx.conf'), 'utf8');
  const site = example
    .replace('server 127.0.0.1:8080;', `server ${new URL(upstream).host};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port} ssl http2;`)
    .replace('/etc/ssl/files.example.com.crt', certificate)
    .replace('/etc/ssl/files.example.com.key', key);
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name.replace('client_', '')};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${site}\n}\n`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  t.after(() => child.kill('SIGKILL'));
  while (!existsSync(join(folder, 'pid'))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url: `https://127.0.0.1:${port}`, ca: readFileSync(certificate, 'utf8') };
}

test('behind nginx with TLS: Destination, origin, names, addresses are what the client means', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'nginx') || !hasProgram(t, 'openssl')) return;
  const server = await startServer(t, {
    service: { accepted_origins: [`https://${publicHost}`], client_forwarded_header: 'X-Forwarded-For' },
  });
  const { url, ca } = await startNginx(t, server.url);
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

  for (const name of ['a b', '100%', '#?', 'ü漢', 'a%2Fb']) {
    const target = `/home/${encodeURIComponent(name)}`;
    assert.equal((await client.put(target, name, { ca, headers: asPublic })).status, 201, name);
    const moved = await client.send('MOVE', target, {
      ca,
      headers: { ...asPublic, destination: `https://${publicHost}/home/to-${encodeURIComponent(name)}` },
    });
    assert.equal(moved.status, 201, name);
    assert.equal(readFileSync(join(server.home, `to-${name}`), 'utf8'), name);
  }
  const forged = await client.put('/home/forged', 'x', { ca, headers: { ...asPublic, 'x-forwarded-for': '203.0.113.9' } });
  assert.equal(forged.status, 201);
  const [last] = (await server.events()).reverse();
  assert.equal(last?.account.peer.address, '127.0.0.1');

  const large = Buffer.alloc(8 * 1024 * 1024, 'x');
  assert.equal((await client.put('/home/large', large, { ca })).status, 201);
  assert.ok((await client.get('/home/large', { ca })).body.equals(large));
});

test('behind nginx: HTTP/2 to the public name', { timeout: 60_000 }, async (t) => {
  if (!hasProgram(t, 'nginx') || !hasProgram(t, 'openssl') || !hasProgram(t, 'curl')) return;
  const server = await startServer(t, { service: { accepted_origins: [`https://${publicHost}`] } });
  const { url } = await startNginx(t, server.url);
  const { port } = new URL(url);
  const cwd = temporaryFolder(t);
  // The real name, the real scheme, HTTP/2: only the address is bent.
  const curl = (...args: string[]) =>
    runProgram('curl', ['-sk', '--http2', '--connect-to', `${publicHost}:443:127.0.0.1:${port}`, '-u', 'alice:secret', ...args], { cwd });
  writeFileSync(join(cwd, 'f'), 'content');
  const base = `https://${publicHost}/home`;
  assert.equal((await curl('-o', 'body', '-w', '%{http_code} %{http_version}', '-T', 'f', `${base}/f`)).output, '201 2');
  assert.equal((await curl('-o', 'body', '-w', '%{http_code}', '-X', 'MOVE', '-H', `Destination: ${base}/g`, `${base}/f`)).output, '201');
  assert.match((await curl('-X', 'PROPFIND', '-H', 'Depth: 1', `${base}/`)).output, /<D:href>\/home\/g<\/D:href>/);
});

test('without a proxy: a forwarded host counts only where a proxy is configured', async (t) => {
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
