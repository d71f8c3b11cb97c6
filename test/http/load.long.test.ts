import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { selfSigned } from '../support/certificates.ts';
import { start } from '../support/child.ts';
import { Client } from '../support/client.ts';
import { cheapHash } from '../support/passwords.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { watchOutput } from '../support/secret-watch.ts';
import { testPassword } from '../support/secrets.ts';
import { temporaryFolder } from '../support/temp.ts';

/** `SVC_LOAD=full` gives the figures of docs/operate/reliability.md: 2,000 idle connections and 200 of each slow kind. */
const isFull = process.env.SVC_LOAD === 'full';
const scale = isFull ? 1 : 0.2;

/** In full load: number of clients that send a request as soon as they have the previous reply. */
const goodClients = 16;
const requestsOfOne = isFull ? 500 : 60;

/** A p99 in milliseconds. Below it, the machine determines the figure more than the service does. */
const floorMs = 250;

/** Two buffers of 1 MiB for each running download, and a reserve. */
const maxRssMib = 250 + 650 * scale;

interface Loaded {
  pid: number;
  http: Client;
  https: string;
  monitor: string;
  ca: string;
  session: string;
  httpsSession: string;
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
    accounts: { alice: { password: await cheapHash(testPassword) } },
    services: {
      web: { type: 'http', port: 0 },
      tls: { type: 'https', port: 0, tls_certificate_path: 'cert.pem', tls_key_path: 'key.pem' },
      figures: { type: 'monitor', port: 0 },
    },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  const server = start(t, ['serve', '--log-level', 'error'], { cwd: folder });
  const urlOf = async (service: RegExp) => (await server.line(service))[1] ?? '';
  const http = new Client(await urlOf(/web.*?(http:\S+)\/\n/));
  const [https, monitor] = [await urlOf(/(https:\S+)\/\n/), await urlOf(/figures.*?(http:\S+)\/\n/)];
  const session = await http.login();
  const httpsSession = await new Client(https).login('alice', testPassword, { ca: cert });
  return { pid: server.child.pid ?? 0, http, https, monitor, ca: cert, session, httpsSession };
}

function p99(tookMs: number[]): number {
  return tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length * 0.99)] ?? 0;
}

interface Took {
  reads: number[];
  uploads: number[];
}

/** One well-behaved client on one connection: reads, listings and uploads in turn. */
async function goodClient({ http, session }: Loaded, name: string, count: number): Promise<Took> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const took: Took = { reads: [], uploads: [] };
  const send = (method: string, path: string, body: string, expected: number[]) =>
    new Promise<void>((resolve, reject) => {
      const startedMs = performance.now();
      const headers = { authorization: `session ${session}`, accept: 'application/json', 'content-length': body.length };
      const outgoing = request(`${http.url}${path}`, { method, headers, agent }, (incoming) => {
        incoming.resume();
        incoming.on('error', reject);
        incoming.on('end', () => {
          took[method === 'PUT' ? 'uploads' : 'reads'].push(performance.now() - startedMs);
          if (expected.includes(incoming.statusCode ?? 0)) resolve();
          else reject(new Error(`${method} ${path}: ${incoming.statusCode}`));
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  for (let index = 0; index < count; index++) {
    if (index % 10 === 9) await send('PUT', `/home/good-${name}`, 'x'.repeat(1000), [200, 201, 204]);
    else if (index % 10 === 4) await send('GET', '/home/', '', [200]);
    else await send('GET', '/home/small', '', [200]);
  }
  agent.destroy();
  return took;
}

interface Measured {
  /** p99 as the clients measure it, and requests of all clients per second. */
  p99Ms: number;
  uploadP99Ms: number;
  perSecond: number;
  /** p99 of the delay of the service's event loop: a request can wait this long before it is processed. */
  loopP99Ms: number;
}

async function measure(loaded: Loaded, clients: number): Promise<Measured> {
  await loopP99(loaded);
  const startedMs = performance.now();
  const took = await Promise.all(Array.from({ length: clients }, (_, index) => goodClient(loaded, `${index}`, requestsOfOne)));
  const all = took.flatMap(({ reads, uploads }) => [...reads, ...uploads]);
  const perSecond = (all.length * 1000) / (performance.now() - startedMs);
  return { p99Ms: p99(all), uploadP99Ms: p99(took.flatMap(({ uploads }) => uploads)), perSecond, loopP99Ms: await loopP99(loaded) };
}

/** Returns the p99 since the last call. */
async function loopP99({ monitor }: Loaded): Promise<number> {
  const { text } = await new Client(monitor).get('/metrics', { user: null });
  const seconds = /^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1];
  assert.ok(seconds !== undefined, text);
  return Number(seconds) * 1000;
}

function shown(what: string, { p99Ms, uploadP99Ms, perSecond, loopP99Ms }: Measured): string {
  return `${what}: p99 ${p99Ms.toFixed(1)} ms (uploads ${uploadP99Ms.toFixed(1)} ms), ${perSecond.toFixed(0)} requests/s, event loop p99 ${loopP99Ms.toFixed(1)} ms`;
}

function rssMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

function descriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

interface HostileCounts {
  connections: number;
  toldToBeCalm: number;
}

/** Starts the hostile clients in a separate process of low priority. */
async function startHostile(
  t: TestContext,
  { http, https, ca, session, httpsSession }: Loaded,
): Promise<{ end(): Promise<HostileCounts> }> {
  const program = join(process.env.SVC_ROOT ?? '.', 'test/support/hostile-load.mjs');
  const options = JSON.stringify({ port: http.port, https, ca, session, httpsSession, scale });
  const child: ChildProcess = spawn('nice', ['-n', '19', process.execPath, program, options], { stdio: ['pipe', 'pipe', 'inherit'] });
  watchOutput(t, () => child.kill('SIGKILL'), []);
  let printed = '';
  child.stdout?.on('data', (chunk) => {
    printed += chunk;
  });
  const closed = new Promise((resolve) => child.on('close', resolve));
  for (let waited = 0; waited < 6 && !printed.startsWith('standing'); waited++)
    await until('the connections are open', () => printed.startsWith('standing')).catch(() => {});
  assert.match(printed, /^standing/);
  const end = async () => {
    child.stdin?.end();
    await closed;
    return JSON.parse(printed.split('\n')[1] ?? '') as HostileCounts;
  };
  return { end };
}

test('slow and hostile clients do not block good ones, and everything recovers', { timeout: 110_000 }, async (t) => {
  if (!hasProgram(t, 'openssl')) return;
  const loaded = await startLoaded(t);
  await measure(loaded, goodClients);
  const idle = await measure(loaded, 1);
  const quiet = await measure(loaded, goodClients);
  const openBefore = descriptors(loaded.pid);

  const hostile = await startHostile(t, loaded);
  assert.ok(descriptors(loaded.pid) > openBefore + 2000 * scale);
  const beside = await measure(loaded, goodClients);
  const rss = rssMib(loaded.pid);
  const counts = await hostile.end();
  console.log(`load: one good client alone: ${shown('', idle).slice(2)}`);
  console.log(`load: ${shown(`${goodClients} good clients at full load`, quiet)}`);
  console.log(`load: ${shown('the same beside the hostile ones', beside)}; RSS ${rss.toFixed(0)} MiB; ${JSON.stringify(counts)}`);
  console.log(`load: p99 is ${(beside.p99Ms / quiet.p99Ms).toFixed(1)} times that of full load without hostile clients`);
  assert.ok(beside.p99Ms < Math.max(5 * quiet.p99Ms, floorMs), `p99 ${quiet.p99Ms} ms quiet, ${beside.p99Ms} ms loaded`);
  assert.ok(rss < maxRssMib, `${rss} MiB`);
  assert.ok(counts.toldToBeCalm > 0, 'floods are ended');
  await until('all is closed again', () => descriptors(loaded.pid) <= openBefore + 5);
  assert.equal((await loaded.http.put('/home/after', 'x')).status, 201);
  const names = (await loaded.http.names('/home/')).filter((name) => !name.startsWith('good-'));
  assert.deepEqual(names.sort(), ['after', 'large', 'small'], 'no half upload is left');
});
