// Callout-authenticated Basic GETs against the same GETs with a session, interleaved; latency added; sockets at the endpoint.
//   node scripts/bench/callout.mjs [--rounds N] [--smoke] [--write]
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { machineLine } from './support/machine.mjs';
import { table, writeBetween } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, smoke: { type: 'boolean' }, write: { type: 'boolean' } },
});
const rounds = options.smoke ? 1 : Number(options.rounds);
const seconds = options.smoke ? 0.3 : 4;
const connections = 32;
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
mkdirSync(join(folder, 'home'));
writeFileSync(join(folder, 'home/small'), Buffer.alloc(1024));

// The endpoint is a process of its own, so that its CPU does not count as the service's.
const endpointSource = `
  let sockets = 0;
  require('node:http').createServer((q, s) => { q.resume(); q.on('end', () => { if (q.url === '/sockets') s.end(String(sockets)); else { s.statusCode = 204; s.end(); } }); })
    .on('connection', () => { sockets++; }).listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port + '/'); });`;
const children = [];
function started(args) {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return new Promise((resolve) =>
    child.stdout.on('data', (chunk) => resolve({ child, url: /(http:\/\/[^\s/]+)\//.exec(String(chunk))?.[1] })),
  );
}
const endpoint = await started(['-e', endpointSource]);
writeFileSync(
  join(folder, 'svc.config.json'),
  JSON.stringify({
    authentications: { c: { type: 'http', url: `${endpoint.url}/auth` } },
    groups: { DEFAULT_GROUP: { home_folder_path: join(folder, 'home') } },
    services: { web: { type: 'http', port: 0 } },
  }),
);
const svc = await started([join(process.cwd(), 'dist/svc.mjs'), 'serve', '--log-level', 'error']);

function send(agent, url, method, headers, body) {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent, headers }, (incoming) => {
      const chunks = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', () => resolve({ status: incoming.statusCode, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function measure(authorization) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies = [];
  const cpuBefore = cpuSeconds(svc.child.pid);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endMs) {
        const beforeMs = performance.now();
        const { status } = await send(agent, `${svc.url}/home/small`, 'GET', { authorization });
        if (status !== 200) throw new Error(`status ${status}`);
        latencies.push(performance.now() - beforeMs);
      }
    }),
  );
  const perSecond = latencies.length / ((performance.now() - startMs) / 1000);
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const cpuUs = ((cpuSeconds(svc.child.pid) - cpuBefore) * 1e6) / latencies.length;
  return { perSecond, cpuUs, p50: latencies[Math.floor(latencies.length * 0.5)], p99: latencies[Math.floor(latencies.length * 0.99)] };
}

const login = await send(
  new Agent(),
  `${svc.url}/__svc__/login`,
  'POST',
  { 'content-type': 'application/json', accept: 'application/json' },
  '{"username":"u","password":"p"}',
);
const session = `session ${JSON.parse(login.text).results[0].session}`;
const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;
const results = { session: [], basic: [] };
for (let round = 0; round < rounds; round++) {
  results.session.push(await measure(session));
  results.basic.push(await measure(basic));
}
const sockets = Number((await send(new Agent(), `${endpoint.url}/sockets`, 'GET', {})).text) - 1;
for (const child of children) child.kill('SIGTERM');
rmSync(folder, { recursive: true, force: true });

const median = (runs, name) => runs.map((run) => run[name]).sort((a, b) => a - b)[Math.floor(runs.length / 2)];
const rows = Object.entries(results).map(([name, runs]) => [
  name === 'basic' ? 'Basic, one callout each' : 'session',
  median(runs, 'perSecond').toFixed(0),
  `${median(runs, 'cpuUs').toFixed(0)} µs`,
  `${median(runs, 'p50').toFixed(2)} ms`,
  `${median(runs, 'p99').toFixed(2)} ms`,
]);
const text = `${table(['GET 1 KiB, 32 connections', 'req/s', 'service CPU', 'p50', 'p99'], rows)}

Sockets at the endpoint: ${sockets} (at most ${connections} and one for the start test).
${machineLine()}, medians of ${rounds} rounds.`;
console.log(text);
if (options.write) writeBetween('docs/operate/performance.md', 'bench-callout', text);
