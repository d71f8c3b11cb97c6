// PROPFIND Depth 1 of 1,000 and 10,000 entries, beside `rclone serve webdav` and Apache mod_dav where they are installed, interleaved
// in one run: whole reply, first byte, CPU of the server; then how much the memory of svc grows with 100,000 entries.
//   node scripts/bench/webdav.mjs [--rounds N] [--smoke]
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { freePort, isInstalled, median, memoryMiB } from './support/machine.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '15' }, smoke: { type: 'boolean' } } });
const rounds = options.smoke ? 2 : Number(options.rounds);
const sizes = options.smoke ? [50, 100] : [1000, 10_000];
const largest = options.smoke ? 500 : 100_000;
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const home = join(folder, 'home');
// A kind of file that every server knows by its name: rclone opens files whose extension it does not know.
for (const count of [...sizes, largest]) {
  mkdirSync(join(home, `d${count}`), { recursive: true });
  for (let index = 0; index < count; index++) writeFileSync(join(home, `d${count}`, `file number ${index}.png`), '');
}

// What rclone asks for, the commonest client of servers without a desktop; and what no body asks for.
const bodies = {
  'as rclone asks':
    '<?xml version="1.0"?><d:propfind xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns" xmlns:nc="http://nextcloud.org/ns"><d:prop><d:displayname/><d:getlastmodified/><d:getcontentlength/><d:resourcetype/><d:getcontenttype/><oc:checksums/><oc:permissions/></d:prop></d:propfind>',
  allprop: '',
};

const children = [];

async function answering(server) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const reply = await propfind(server.at(sizes[0]), '').catch(() => undefined);
    if (reply?.status === 207) return server;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${server.name} does not answer`);
}

function startProgram(program, args, env = {}) {
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } });
  children.push(child);
  return child;
}

async function startSvc() {
  const port = await freePort();
  const hashed = spawnSync(process.execPath, ['dist/svc.mjs', 'hash-password'], { input: 'bench-password', encoding: 'utf8' });
  const config = {
    groups: { DEFAULT_GROUP: { home_folder_path: home } },
    accounts: { bench: { password: hashed.stdout.trim() } },
    services: { files: { type: 'http', port } },
  };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(config));
  const child = startProgram(process.execPath, [join(process.cwd(), 'dist/svc.mjs'), 'serve', '--log-level', 'error']);
  return answering({ name: 'svc', child, at: (count) => ({ port, path: `/home/d${count}/` }) });
}

// With --dir-cache-time 0 it would read the whole folder anew for each entry; so it has the folder in memory, as by default.
async function startRclone() {
  if (!isInstalled('rclone')) return undefined;
  const port = await freePort();
  const args = ['serve', 'webdav', home, '--addr', `127.0.0.1:${port}`, '--user', 'bench', '--pass', 'bench-password'];
  const child = startProgram('rclone', args, { RCLONE_CONFIG: '/dev/null' });
  return answering({ name: 'rclone serve webdav', child, at: (count) => ({ port, path: `/d${count}/` }) });
}

async function startApache() {
  const modules = '/usr/lib/apache2/modules';
  if (!isInstalled('apache2') || !existsSync(`${modules}/mod_dav_fs.so`)) return undefined;
  const port = await freePort();
  const load = ['mpm_event', 'authz_core', 'dav', 'dav_fs'].map((name) => `LoadModule ${name}_module ${modules}/mod_${name}.so`);
  const lines = [
    ...load,
    `ServerName localhost`,
    `Listen 127.0.0.1:${port}`,
    `PidFile ${folder}/apache.pid`,
    `ErrorLog ${folder}/apache.log`,
    `DocumentRoot ${home}`,
    `DavLockDB ${folder}/locks`,
    `<Directory ${home}>`,
    'Dav On',
    'Require all granted',
    '</Directory>',
  ];
  writeFileSync(join(folder, 'apache.conf'), `${lines.join('\n')}\n`);
  const child = startProgram('apache2', ['-X', '-f', join(folder, 'apache.conf')]);
  return answering({ name: 'Apache mod_dav', child, at: (count) => ({ port, path: `/d${count}/` }) });
}

const authorization = `Basic ${Buffer.from('bench:bench-password').toString('base64')}`;
const agent = new Agent({ keepAlive: true });

function propfind({ port, path }, body) {
  const startMs = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { authorization, depth: '1', 'content-type': 'application/xml', 'content-length': Buffer.byteLength(body) };
    const outgoing = request({ host: '127.0.0.1', port, method: 'PROPFIND', path, headers, agent }, (incoming) => {
      let firstMs;
      let bytes = 0;
      incoming.on('data', (chunk) => {
        firstMs ??= performance.now() - startMs;
        bytes += chunk.length;
      });
      incoming.on('end', () => resolve({ status: incoming.statusCode, firstMs, wholeMs: performance.now() - startMs, bytes }));
      incoming.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function cell(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return `${median(sorted).toFixed(1)} [${sorted[0].toFixed(1)}–${sorted.at(-1).toFixed(1)}]`;
}

try {
  const servers = [await startSvc(), await startRclone(), await startApache()].filter((server) => server !== undefined);
  const rows = [];
  for (const [label, body] of Object.entries(bodies)) {
    for (const count of sizes) {
      const results = new Map(servers.map((server) => [server, []]));
      for (let round = 0; round < rounds; round++)
        for (const server of servers) {
          const reply = await propfind(server.at(count), body);
          if (reply.status !== 207) throw new Error(`${server.name}: status ${reply.status}`);
          results.get(server).push(reply);
        }
      for (const server of servers) {
        const replies = results.get(server);
        rows.push([
          `${count} entries, ${label}`,
          server.name,
          cell(replies.map((reply) => reply.wholeMs)),
          cell(replies.map((reply) => reply.firstMs)),
          `${Math.round(replies[0].bytes / 1024)} KiB`,
        ]);
        console.error(rows.at(-1).join(', '));
      }
    }
  }
  const [svc] = servers;
  const growth = [];
  for (let round = 0; round < 3; round++) {
    const before = memoryMiB(svc.child.pid);
    let peak = before;
    const sampler = setInterval(() => {
      peak = Math.max(peak, memoryMiB(svc.child.pid));
    }, 5);
    const reply = await propfind(svc.at(largest), bodies['as rclone asks']);
    clearInterval(sampler);
    growth.push({ before, growth: peak - before, ms: reply.wholeMs, firstMs: reply.firstMs });
  }
  const date = new Date().toISOString().slice(0, 10);
  console.log(
    `${date}, ${cpus().length} cores (${cpus()[0].model.trim()}), Node.js ${process.version}, loopback; medians of ${rounds} rounds [least–most].\n`,
  );
  console.log('| PROPFIND, Depth 1 | server | whole reply, ms | first byte, ms | size |\n|---|---|---|---|---|');
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
  console.log(`\n${largest} entries: memory of svc (RSS), three requests one after the other:`);
  for (const { before, growth: grown, ms, firstMs } of growth)
    console.log(
      `${before.toFixed(0)} MiB before, at most ${grown.toFixed(1)} MiB more; ${ms.toFixed(0)} ms, first byte ${firstMs.toFixed(1)} ms`,
    );
} finally {
  agent.destroy();
  for (const child of children) child.kill('SIGTERM');
  rmSync(folder, { recursive: true, force: true });
}
