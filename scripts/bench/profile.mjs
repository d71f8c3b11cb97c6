// Where the time of a request goes: runs svc under V8's sampling profiler, with one workload, and prints shares of the busy time of its
// main thread by what was running. Compare shares, not times: the profiler costs some itself.
//   node scripts/bench/profile.mjs [get|basic|put|put-large|zip|listing|start] [--seconds N] [--functions N] [--write]
//   without a name all of them; --functions prints so many functions of svc; --write puts the table into docs/operate/performance.md
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeFolders, publish, remove } from './support/benchmark.mjs';
import { bulk, throughput, timed } from './support/load.mjs';
import { machineLine } from './support/machine.mjs';
import { Servers } from './support/servers.mjs';
import { table } from './support/table.mjs';

process.chdir(new URL('../..', import.meta.url).pathname);
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '4' }, functions: { type: 'string', default: '0' }, write: { type: 'boolean' } },
});
const seconds = Number(options.seconds);
const own = 'svc and its packages';
const { folder, home } = makeFolders(['zip', 'put', 'list']);
fillHome();

function fillHome() {
  writeFileSync(join(home, 'big'), '');
  truncateSync(join(home, 'big'), 2 ** 30);
  for (let index = 0; index < 10_000; index++) writeFileSync(join(home, 'list', `file number ${index}.png`), '');
  for (let index = 0; index < 3200; index++) writeFileSync(join(home, 'zip', `part-${index}`), Buffer.alloc(10 * 2 ** 10, 'x'));
  for (let index = 0; index < 96; index++) writeFileSync(join(home, 'zip', `large-${index}`), Buffer.alloc(2 ** 20, 'x'));
}

async function repeated(action) {
  const endMs = performance.now() + seconds * 1000;
  while (performance.now() < endMs) await action();
}

const workloads = {
  get: ['GET of 1 KiB', (svc) => throughput(svc, { path: svc.at('small'), connections: 64, seconds, folder })],
  basic: [
    'GET of 1 KiB, Basic',
    (svc) => throughput(svc, { path: svc.at('small'), connections: 64, seconds, folder, headers: svc.basicHeaders }),
  ],
  put: ['PUT of 1 KiB', (svc) => throughput(svc, { path: svc.at('put/file'), method: 'PUT', connections: 32, seconds, folder })],
  'put-large': ['PUT of 1 GiB', (svc) => repeated(() => bulk(svc, { method: 'PUT', path: svc.at('put/big'), bodyBytes: 2 ** 30 }))],
  zip: ['ZIP', (svc) => repeated(() => bulk(svc, { path: svc.at('zip/'), headers: { accept: 'application/zip' } }))],
  listing: ['HTML listing of 10,000', (svc) => repeated(() => timed(svc, { path: svc.at('list/'), headers: { accept: 'text/html' } }))],
  start: ['start', async () => {}],
};

const chosen = positionals.length > 0 ? positionals : Object.keys(workloads);
const columns = [];
for (const name of chosen) {
  const [title, action] = workloads[name] ?? usage(name);
  columns.push({ title, ...sharesOf(await profileOf(name, action)) });
}
const kinds = [...new Set(columns.flatMap(({ shares }) => Object.keys(shares)))];
const rows = kinds.map((kind) => [kind, ...columns.map(({ shares }) => `${(100 * (shares[kind] ?? 0)).toFixed(0)} %`)]);
const busy = ['main thread busy', ...columns.map(({ busyShare }) => `${(100 * busyShare).toFixed(0)} %`)];
const text = `${machineLine()}:\n\n${table(['of the busy time of the main thread', ...columns.map(({ title }) => title)], [...rows, busy])}`;
publish('profile', text, options.write);
for (const { title, functions } of columns) {
  const listed = functions.slice(0, Number(options.functions));
  if (listed.length > 0) console.log(`\n${title}\n${listed.map(([name, share]) => `  ${(100 * share).toFixed(1)} %  ${name}`).join('\n')}`);
}
remove(folder);

function kindOf({ functionName, url }) {
  if (functionName === '(idle)') return undefined;
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (/compile/i.test(functionName) && (url === '' || url.startsWith('node:'))) return 'compiling';
  if (functionName === 'crc32') return 'CRC-32';
  if (url.endsWith('svc.mjs')) return own;
  if (url.startsWith('node:')) return 'Node.js, in JavaScript (HTTP, streams, timers)';
  if (
    /^(open|close|read|readlink|realpath|l?stat|fstat|rename|link|unlink|chdir|fchmod|fchown|statfs|readdir|mkdir|f?utimes)(Sync)?$/.test(
      functionName,
    )
  )
    return 'system calls of files';
  if (/^(write\w*|shutdown|accept|listen|bind6?|readStart|readStop|setNoDelay|setKeepAlive)$/.test(functionName))
    return 'system calls of writing (sockets, files)';
  return url === '' && functionName === '(program)' ? 'Node.js, outside of JavaScript (event loop, HTTP parser)' : 'other native functions';
}

function usage(name) {
  console.error(`profile: no workload ${name}; there are ${Object.keys(workloads).join(', ')}`);
  process.exit(2);
}

async function profileOf(name, action) {
  const profiles = join(folder, `profile-${name}`);
  const servers = new Servers(folder, home);
  try {
    const svc = await servers.svc({
      name: `svc ${name}`,
      nodeArgs: ['--cpu-prof', '--cpu-prof-interval', '250', '--cpu-prof-dir', profiles],
    });
    // The profiler begins with the process: what is before the workload is left out by time.
    const startedMs = name === 'start' ? 0 : performance.timeOrigin + performance.now();
    await action(svc);
    const endedMs = performance.timeOrigin + performance.now();
    await servers.stop();
    const [file] = readdirSync(profiles);
    const profile = JSON.parse(readFileSync(join(profiles, file), 'utf8'));
    // The clock of a profile begins anywhere; its end is when the process ended.
    return { profile, fromMs: startedMs, untilMs: endedMs, stoppedMs: performance.timeOrigin + performance.now() };
  } finally {
    await servers.stop();
  }
}

/** Shares of the busy time by kind, and the functions of svc that took most. */
function sharesOf({ profile, fromMs, untilMs, stoppedMs }) {
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const [shares, functions] = [new Map(), new Map()];
  let [busyUs, idleUs] = [0, 0];
  let atUs = profile.startTime;
  for (const [index, id] of profile.samples.entries()) {
    const tookUs = profile.timeDeltas[index];
    atUs += tookUs;
    const atMs = stoppedMs - (profile.endTime - atUs) / 1000;
    if (atMs < fromMs || atMs > untilMs) continue;
    const { callFrame } = nodes.get(id);
    const kind = kindOf(callFrame);
    if (kind === undefined) {
      idleUs += tookUs;
      continue;
    }
    busyUs += tookUs;
    shares.set(kind, (shares.get(kind) ?? 0) + tookUs);
    if (kind !== own) continue;
    const name = `${callFrame.functionName || '(anonymous)'} ${callFrame.url}:${callFrame.lineNumber + 1}`;
    functions.set(name, (functions.get(name) ?? 0) + tookUs);
  }
  return {
    busyShare: busyUs / (busyUs + idleUs),
    shares: Object.fromEntries([...shares].sort((a, b) => b[1] - a[1]).map(([kind, us]) => [kind, us / busyUs])),
    functions: [...functions].sort((a, b) => b[1] - a[1]).map(([name, us]) => [name, us / busyUs]),
  };
}
