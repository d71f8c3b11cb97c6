// `npm run bench`: measures svc beside a plain node:http file server in the same run, interleaved, and prints a Markdown table.
//   node scripts/bench/run.mjs [--rounds N] [--smoke] [--write]   --write puts the table into README.md
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, smoke: { type: 'boolean' }, write: { type: 'boolean' } },
});
const rounds = options.smoke ? 1 : Number(options.rounds);
const seconds = options.smoke ? 0.2 : 3;
const scale = options.smoke ? 0.001 : 1;
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const home = join(folder, 'home');
mkdirSync(join(home, 'list'), { recursive: true });
mkdirSync(join(home, 'zip'));
writeFileSync(join(home, 'small'), Buffer.alloc(1024, 'x'));
writeFileSync(join(home, 'big'), '');
truncateSync(join(home, 'big'), Math.round(4 * 1024 ** 3 * scale));
const entries = options.smoke ? 50 : 10_000;
for (let index = 0; index < entries; index++) writeFileSync(join(home, 'list', `file-${index}.txt`), 'x');
for (let index = 0; index < 300; index++)
  writeFileSync(join(home, 'zip', `part-${index}`), Buffer.alloc(Math.round(1024 * 1024 * Math.max(scale, 0.01)), index));

function rssMiB(pid, peak) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${peak ? 'VmHWM' : 'VmRSS'}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024;
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function startServer(name, args, cwd = folder) {
  const startedMs = performance.now();
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  const url = await new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const match = /(http:\/\/[^\s/]+)\//.exec(text);
      if (match) resolve(match[1]);
    });
    child.on('exit', () => reject(new Error(`${name} did not start`)));
  });
  const server = { name, child, url, headers: {} };
  return { ...server, startMs: performance.now() - startedMs };
}

function send(server, agent, method, path, { headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const outgoing = request(server.url + path, { method, agent, headers: { ...server.headers, ...headers } }, (incoming) => {
      let bytes = 0;
      const chunks = [];
      incoming.on('data', (chunk) => {
        bytes += chunk.length;
        if (path === '/__svc__/login') chunks.push(chunk);
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode, bytes, text: Buffer.concat(chunks).toString() }));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    if (body && typeof body !== 'string' && !Buffer.isBuffer(body)) body(outgoing);
    else outgoing.end(body);
  });
}

/** Requests a second with so many connections, and microseconds of the server's CPU for each. */
async function throughput(server, connections, make) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const cpuBefore = cpuSeconds(server.child.pid);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  let count = 0;
  await Promise.all(
    Array.from({ length: connections }, async (_, worker) => {
      while (performance.now() < endMs) {
        const reply = await make(agent, worker, count);
        if (reply.status >= 300) throw new Error(`${server.name}: status ${reply.status}`);
        count++;
      }
    }),
  );
  const perSecond = count / ((performance.now() - startMs) / 1000);
  agent.destroy();
  return { value: perSecond, cpuUs: ((cpuSeconds(server.child.pid) - cpuBefore) * 1e6) / count };
}

async function timed(_server, action) {
  const agent = new Agent({ keepAlive: true });
  const startMs = performance.now();
  const { bytes } = await action(agent);
  const ms = performance.now() - startMs;
  agent.destroy();
  return { ms, bytes };
}

const hashed = spawnSync(process.execPath, ['dist/svc.mjs', 'hash-password'], { input: 'bench-password', encoding: 'utf8' });
const config = {
  groups: { DEFAULT_GROUP: { home_folder_path: home } },
  accounts: { bench: { password: hashed.stdout.trim() } },
  services: { files: { type: 'http', port: 0 } },
};
writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
const svc = await startServer('svc', [join(process.cwd(), 'dist/svc.mjs'), 'serve', '--log-level', 'error']);
const idleMiB = rssMiB(svc.child.pid, false);
const login = await send(svc, new Agent(), 'POST', '/__svc__/login', {
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: '{"username":"bench","password":"bench-password"}',
});
svc.headers = { authorization: `session ${JSON.parse(login.text).results[0].session}` };
const plain = await startServer('plain node:http', [join(process.cwd(), 'scripts/bench/plain-server.mjs'), home]);
const basic = { authorization: `Basic ${Buffer.from('bench:bench-password').toString('base64')}` };

const rows = [];
async function measure(name, unit, servers, run) {
  const results = new Map(servers.map((server) => [server, []]));
  for (let round = 0; round < rounds; round++) for (const server of servers) results.get(server).push(await run(server));
  const text = (server) => {
    const runs = results.get(server);
    if (!runs) return '–';
    const values = runs.map((run) => run.value).sort((a, b) => a - b);
    const median = values[Math.floor(values.length / 2)];
    const digits = median < 100 ? 1 : 0;
    const cpu =
      runs[0].cpuUs === undefined
        ? ''
        : ` (${Math.round(runs.map((run) => run.cpuUs).sort((a, b) => a - b)[Math.floor(runs.length / 2)])} µs CPU)`;
    return `${median.toFixed(digits)} ${unit}${cpu} [${values[0].toFixed(digits)}–${values.at(-1).toFixed(digits)}]`;
  };
  rows.push([name, text(svc), text(plain)]);
  console.log(`${name}: svc ${text(svc)}, plain ${text(plain)}`);
}

const both = [svc, plain];
await measure('GET 1 KiB, 64 connections, session', 'req/s', both, (server) =>
  throughput(server, 64, (agent) => send(server, agent, 'GET', '/home/small')),
);
await measure('GET 1 KiB, 64 connections, Basic', 'req/s', [svc], (server) =>
  throughput(server, 64, (agent) => send(server, agent, 'GET', '/home/small', { headers: basic })),
);
await measure('PUT 1 KiB, 32 connections, on disk before the reply', 'req/s', [svc], (server) =>
  throughput(server, 32, (agent, worker, count) =>
    send(server, agent, 'PUT', `/home/put-${worker}-${count % 50}`, { body: Buffer.alloc(1024, 'y') }),
  ),
);
await measure('GET 4 GiB', 'MB/s', both, async (server) => {
  const { ms, bytes } = await timed(server, (agent) => send(server, agent, 'GET', '/home/big'));
  return { value: bytes / 1e6 / (ms / 1000) };
});
const uploadBytes = Math.round(4 * 1024 ** 3 * scale);
await measure('PUT 4 GiB, synced', 'MB/s', [svc], async (server) => {
  const chunk = Buffer.alloc(Math.min(1024 * 1024, uploadBytes), 'z');
  const { ms } = await timed(server, (agent) =>
    send(server, agent, 'PUT', '/home/uploaded', {
      headers: { 'content-length': String(Math.floor(uploadBytes / chunk.length) * chunk.length) },
      body: async (outgoing) => {
        for (let sent = 0; sent + chunk.length <= uploadBytes; sent += chunk.length) {
          if (!outgoing.write(chunk)) await new Promise((resolve) => outgoing.once('drain', resolve));
        }
        outgoing.end();
      },
    }),
  );
  return { value: uploadBytes / 1e6 / (ms / 1000) };
});
for (const [label, headers] of [
  ['JSON', { accept: 'application/json' }],
  ['page', { accept: 'text/html' }],
  ['page, gzip', { accept: 'text/html', 'accept-encoding': 'gzip' }],
]) {
  await measure(`listing of ${entries} entries, ${label}`, 'ms', [svc], async (server) => ({
    value: (await timed(server, (agent) => send(server, agent, 'GET', '/home/list/', { headers }))).ms,
  }));
}
await measure('ZIP of 300 MiB, stored', 'MB/s', [svc], async (server) => {
  const { ms, bytes } = await timed(server, (agent) =>
    send(server, agent, 'GET', '/home/zip/', { headers: { accept: 'application/zip' } }),
  );
  return { value: bytes / 1e6 / (ms / 1000) };
});
rows.push([
  'start to the first accepted connection, with a configuration file',
  `${svc.startMs.toFixed(0)} ms`,
  `${plain.startMs.toFixed(0)} ms`,
]);
rows.push(['idle memory (RSS)', `${idleMiB.toFixed(0)} MiB`, '–']);
rows.push([
  'peak memory (RSS) over all of the above',
  `${rssMiB(svc.child.pid, true).toFixed(0)} MiB`,
  `${rssMiB(plain.child.pid, true).toFixed(0)} MiB`,
]);
for (const server of both) server.child.kill('SIGTERM');
rmSync(folder, { recursive: true, force: true });

const date = new Date().toISOString().slice(0, 10);
const table = [
  `${date}, ${cpus().length} cores (${cpus()[0].model.trim()}), Node.js ${process.version}, loopback, load from the same machine; medians of ${rounds} rounds [least–most].`,
  '',
  '| workload | svc | plain node:http server |',
  '|---|---|---|',
  ...rows.map((row) => `| ${row.join(' | ')} |`),
].join('\n');
console.log(`\n${table}`);
if (options.write) {
  const readme = readFileSync('README.md', 'utf8');
  writeFileSync(
    'README.md',
    readme.replace(/(<!-- bench:start -->\n)[\s\S]*?(<!-- bench:end -->)/, (_, start, end) => `${start}\n${table}\n\n${end}`),
  );
}
