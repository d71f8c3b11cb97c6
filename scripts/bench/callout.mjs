// Callout-authenticated Basic GETs against the same GETs with a session, interleaved; latency added; sockets at the endpoint.
//   node scripts/bench/callout.mjs [--rounds N] [--smoke] [--write]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endAll, send, started } from './support/exchange.mjs';
import { cpuSeconds, machineLine, median } from './support/machine.mjs';
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
const startedAt = async (args) => {
  const program = started(args, folder);
  return { ...program, url: (await program.line(/(http:\/\/[^\s/]+)\//))[1] };
};
const endpoint = await startedAt(['-e', endpointSource]);
writeFileSync(
  join(folder, 'svc.config.json'),
  JSON.stringify({
    authentications: { c: { type: 'http', url: `${endpoint.url}/auth` } },
    groups: { DEFAULT_GROUP: { home_folder_path: join(folder, 'home') } },
    services: { web: { type: 'http', port: 0 } },
  }),
);
const svc = await startedAt([join(process.cwd(), 'dist/svc.mjs'), 'serve', '--log-level', 'error']);

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
        const { status } = await send(`${svc.url}/home/small`, { headers: { authorization }, agent });
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

const login = await send(`${svc.url}/__svc__/login`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: '{"username":"u","password":"p"}',
});
const session = `session ${JSON.parse(login.text).results[0].session}`;
const basic = `Basic ${Buffer.from('u:p').toString('base64')}`;
const results = { session: [], basic: [] };
for (let round = 0; round < rounds; round++) {
  results.session.push(await measure(session));
  results.basic.push(await measure(basic));
}
const sockets = Number((await send(`${endpoint.url}/sockets`)).text) - 1;
endAll();
rmSync(folder, { recursive: true, force: true });

const rows = Object.entries(results).map(([name, runs]) => [
  name === 'basic' ? 'Basic, one callout each' : 'session',
  median(runs.map(({ perSecond }) => perSecond)).toFixed(0),
  `${median(runs.map(({ cpuUs }) => cpuUs)).toFixed(0)} µs`,
  `${median(runs.map(({ p50 }) => p50)).toFixed(2)} ms`,
  `${median(runs.map(({ p99 }) => p99)).toFixed(2)} ms`,
]);
const text = `${table(['GET 1 KiB, 32 connections', 'req/s', 'service CPU', 'p50', 'p99'], rows)}

Sockets at the endpoint: ${sockets} (at most ${connections} and one for the start test).
${machineLine()}, medians of ${rounds} rounds.`;
console.log(text);
if (options.write) writeBetween('docs/operate/performance.md', 'bench-callout', text);
