import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hashPassword } from '../../src/accounts/passwords.ts';
import { selfSigned } from '../support/certificates.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

/** `SVC_LOAD=full` is the form whose figures stand in docs/reliability.md: 2,000 idle connections and 200 of each slow kind. */
const scale = process.env.SVC_LOAD === 'full' ? 1 : 0.2;
const goodRequests = 300;

/** Below this a p99 says more of the machine than of the service. */
const floorMs = 250;

/** Two buffers of 1 MiB for each download that is under way, and some air. */
const mostRssMib = 250 + 650 * scale;

interface Loaded {
  pid: number;
  http: Client;
  https: string;
  ca: string;
  session: string;
}

async function startLoaded(t: TestContext): Promise<Loaded> {
  const folder = temporaryFolder(t);
  const { key, cert } = selfSigned(t);
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'cert.pem'), cert);
  mkdirSync(join(folder, 'home'));
  writeFileSync(join(folder, 'home/small'), 'x'.repeat(1000));
  writeFileSync(join(folder, 'home/large'), '');
  truncateSync(join(folder, 'home/large'), 50_000_000);
  const config = {
    server: { data_folder_path: 'data', shutdown_timeout: 1 },
    groups: { DEFAULT_GROUP: { home_folder_path: './home' } },
    accounts: { alice: { password: await hashPassword('secret') } },
    services: {
      web: { type: 'http', port: 0 },
      tls: { type: 'https', port: 0, tls_certificate_path: 'cert.pem', tls_key_path: 'key.pem' },
    },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
  const http = new Client((await server.line(/(http:\S+)\/\n/))[1] ?? '');
  const https = (await server.line(/(https:\S+)\/\n/))[1] ?? '';
  return { pid: server.child.pid ?? 0, http, https, ca: cert, session: await http.login() };
}

/** The 99th percentile of the latency of a client that behaves. */
async function goodP99({ http, session }: Loaded): Promise<number> {
  const headers = { authorization: `session ${session}` };
  const tookMs: number[] = [];
  for (let index = 0; index < goodRequests; index++) {
    const startedMs = performance.now();
    assert.equal((await http.get('/home/small', { user: null, headers })).status, 200);
    tookMs.push(performance.now() - startedMs);
  }
  return tookMs.sort((a, b) => a - b)[Math.floor(goodRequests * 0.99)] as number;
}

function rssMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Opens so many connections that send a beginning and then do not read; `more` is sent again and again. */
function hold(port: number, count: number, beginning: string, more = ''): Socket[] {
  return Array.from({ length: Math.ceil(count * scale) }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(beginning));
    socket.on('error', () => {});
    const timer = setInterval(() => more !== '' && socket.writable && socket.write(more), 500);
    socket.on('close', () => clearInterval(timer));
    return socket;
  });
}

/** Streams that are reset as soon as they are opened, more streams than are allowed, and settings without end. */
async function floodHttp2({ https, ca, session }: Loaded, isOver: () => boolean): Promise<void> {
  const headers = { ':path': '/home/large', authorization: `session ${session}` };
  while (!isOver()) {
    const client = connectHttp2(https, { ca, servername: 'localhost' });
    client.on('error', () => {});
    await new Promise((resolve) => client.once('connect', resolve).once('close', resolve));
    for (let index = 0; index < 300 && !client.destroyed && !isOver(); index++) {
      const stream = client.request(headers);
      stream.on('error', () => {});
      if (index % 4 > 0) stream.close(constants.NGHTTP2_CANCEL);
      if (index % 10 === 0) {
        try {
          client.settings({ initialWindowSize: 65_535 + index });
        } catch {
          break;
        }
        await sleep(5);
      }
    }
    client.destroy();
    await sleep(20);
  }
}

test('slow and hostile clients do not keep the service from good ones, and everything recovers', { timeout: 110_000 }, async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const loaded = await startLoaded(t);
  const { port } = loaded.http;
  const authorization = `Authorization: session ${loaded.session}\r\n`;
  await goodP99(loaded);
  const quietMs = await goodP99(loaded);
  const openBefore = descriptors(loaded.pid);

  const request = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: x\r\n${authorization}${more}`;
  const sockets = [
    ...hold(port, 2000, ''),
    ...hold(port, 200, request('GET /home/large', '\r\n')).map((socket) => socket.pause()),
    ...hold(port, 200, request('PUT /home/slow', 'Content-Length: 1000000\r\n\r\n'), 'x'),
    ...hold(port, 100, 'GET /home/ HTTP/1.1\r\nHost: x\r\n', 'X-More: x\r\n'),
    ...hold(port, 100, request('PUT /home/half', 'Transfer-Encoding: chunked\r\n\r\nffff\r\nhalf')),
    ...hold(port, 20, request('GET /home/large', '\r\n').repeat(100)).map((socket) => socket.pause()),
  ];
  let isOver = false;
  const flood = floodHttp2(loaded, () => isOver);
  await until('the connections stand', () => descriptors(loaded.pid) > openBefore + 2000 * scale);
  // The burst of their arrival is over then.
  await sleep(1500);
  const loadedMs = await goodP99(loaded);
  const rss = rssMib(loaded.pid);
  isOver = true;
  await flood;
  console.log(
    `load: ${sockets.length} connections and floods beside; p99 ${quietMs.toFixed(1)} ms quiet, ${loadedMs.toFixed(1)} ms loaded; RSS ${rss.toFixed(0)} MiB`,
  );
  for (const socket of sockets) socket.destroy();
  assert.ok(loadedMs < Math.max(5 * quietMs, floorMs), `p99 ${quietMs} ms quiet, ${loadedMs} ms loaded`);
  assert.ok(rss < mostRssMib, `${rss} MiB`);
  await until('all is closed again', () => descriptors(loaded.pid) <= openBefore + 5);
  assert.equal((await loaded.http.put('/home/after', 'x')).status, 201);
  assert.deepEqual((await loaded.http.names('/home/')).sort(), ['after', 'large', 'small'], 'no half upload is left');
});
