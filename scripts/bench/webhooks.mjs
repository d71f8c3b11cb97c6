// Events to webhooks: journal, delivery, latency, a long backlog, replay; beside a bare loop of POSTs in the same run.
//   node scripts/bench/webhooks.mjs [--rounds N] [--waiting N] [--smoke] [--write]   --write puts the table into docs/operate/performance.md
import { Agent } from 'node:http';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { bundleOptions, requireBanner } from '../bundle-options.mjs';
import { makeFolders, publish, readOptions, remove, executable as svc } from './support/benchmark.mjs';
import { endAll, send, started } from './support/exchange.mjs';
import { cpuSeconds, median, memoryMiB } from './support/machine.mjs';
import { table } from './support/table.mjs';
import { eventOf, makeProject } from './support/webhook-project.mjs';

const { rounds, ...options } = readOptions(3, { waiting: { type: 'string', default: '1000000' } });
const waiting = options.smoke ? 5000 : Number(options.waiting);
const singles = options.smoke ? 500 : 20_000;
const batched = options.smoke ? 5000 : 150_000;
const appended = options.smoke ? 2000 : 200_000;
const uploads = options.smoke ? 50 : 1000;
const { folder } = makeFolders();
const rows = [];

const receiver = started([new URL('support/processes/event-receiver.mjs', import.meta.url).pathname], folder);
const [receiverUrl] = await receiver.line(/http:\S+/);
const agent = new Agent({ keepAlive: true });

const quantile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor(values.length * part)];
function project(name, count, handler) {
  const cwd = join(folder, name);
  makeProject(cwd, count, receiverUrl, handler);
  return cwd;
}

async function deliver(name, count, handler) {
  const results = [];
  for (let round = 0; round < rounds; round++) {
    const cwd = project(`${name}-${round}`, count, handler);
    await send(`${receiverUrl}goal=${count}`, { agent });
    const server = started([svc, 'serve'], cwd);
    const ms = await nextReach();
    const cpu = (cpuSeconds(server.child.pid) * 1e6) / count;
    results.push({ perSecond: count / (ms / 1000), cpu, rss: memoryMiB(server.child.pid, 'VmHWM') });
    await server.end('SIGTERM');
    remove(cwd);
  }
  const [perSecond, cpu, rss] = ['perSecond', 'cpu', 'rss'].map((what) => results.map((result) => result[what]).sort((a, b) => a - b));
  const spread = `${perSecond[0].toFixed(0)}–${perSecond.at(-1).toFixed(0)}`;
  return { perSecond: median(perSecond), cpu: median(cpu), rss: median(rss), spread };
}

let reaches = 0;
/** Waits until the receiver has had as many events as the goal says. @returns how long that took, in milliseconds */
async function nextReach() {
  const [text] = await receiver.line(new RegExp(`(?:reached [^\\n]*\\n[^]*?){${++reaches}}`));
  return Number(text.trimEnd().split(' ').at(-1));
}

// 1. Journal: main-thread time of an append, measured where it is called.
await build({
  ...bundleOptions,
  entryPoints: ['src/events/journal/file-event-log.ts'],
  outfile: join(folder, 'log.mjs'),
  banner: { js: requireBanner },
});
const { FileEventLog } = await import(pathToFileURL(join(folder, 'log.mjs')).href);
const clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (ms, action) => ({
    timer: setTimeout(action, ms).unref(),
    cancel() {
      clearTimeout(this.timer);
    },
  }),
  every: () => ({ cancel() {} }),
};
const quiet = { debug() {}, info() {}, warn() {}, error: console.error };
const log = new FileEventLog({ folder: join(folder, 'journal'), maximumFileSizeBytes: 67_108_864, retentionDays: 30, clock, log: quiet });
const events = Array.from({ length: 1000 }, (_, index) => eventOf(index));
const appendRuns = [];
for (let round = 0; round < rounds; round++) {
  const startMs = performance.now();
  for (let index = 0; index < appended; index++) log.append(events[index % 1000], { group: 'DEFAULT_GROUP', takenBy: undefined });
  appendRuns.push(((performance.now() - startMs) * 1000) / appended);
}
await log.close();
rows.push([
  'journal: append, time on the main thread',
  `${median(appendRuns).toFixed(1)} µs an event (${(1e6 / median(appendRuns)).toFixed(0)} events/s)`,
  'aim: under 10 µs',
]);

// 2. Deliveries, beside a bare loop that posts the same body, one request at a time.
const body = `{"events":[${JSON.stringify(eventOf(1))}],"server":{"uuid":"x","name":"x"}}`;
const bareRuns = [];
for (let round = 0; round < rounds; round++) {
  await send(`${receiverUrl}goal=1000000000`, { agent });
  const startMs = performance.now();
  for (let index = 0; index < singles / 4; index++)
    await send(`${receiverUrl}hook`, { method: 'POST', headers: { 'content-type': 'application/json' }, body, agent });
  bareRuns.push(singles / 4 / ((performance.now() - startMs) / 1000));
}
const bare = median(bareRuns);
const batch1 = await deliver('one', singles, {});
const batch1x8 = await deliver('eight', singles, { concurrency: 8 });
const batch100 = await deliver('hundred', batched, { batch_size: 100 });
rows.push(['a bare node:http loop, one request at a time', `${bare.toFixed(0)} requests/s`, 'nothing recorded, nothing journalled']);
rows.push([
  'delivered, one event a request, in order',
  `${batch1.perSecond.toFixed(0)} events/s (${batch1.spread})`,
  `${batch1.cpu.toFixed(0)} µs CPU an event; ${(batch1.perSecond / bare).toFixed(2)} of the bare loop`,
]);
rows.push([
  'delivered, one event a request, `concurrency: 8`',
  `${batch1x8.perSecond.toFixed(0)} events/s (${batch1x8.spread})`,
  `${batch1x8.cpu.toFixed(0)} µs CPU an event`,
]);
rows.push([
  'delivered, `batch_size: 100`, in order',
  `${batch100.perSecond.toFixed(0)} events/s (${batch100.spread})`,
  `${batch100.cpu.toFixed(0)} µs CPU an event, peak RSS ${batch100.rss.toFixed(0)} MiB; aim: 30,000`,
]);

// 3. Latency: from the reply of an upload to the arrival at the receiver.
{
  const cwd = project('latency', 0, {});
  const server = started([svc, 'serve'], cwd);
  const [, url] = await server.line(/(http:\S+)\/\n/);
  await send(`${receiverUrl}goal=1000000000`, { agent });
  const replies = new Map();
  for (let index = 0; index < uploads; index++) {
    const { status, atMs } = await send(`${url}/home/u${index}.txt`, { method: 'PUT', body: 'x', agent });
    if (status !== 201) throw new Error(`status ${status}`);
    replies.set(`u${index}.txt`, atMs);
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  const times = JSON.parse((await send(`${receiverUrl}times`, { agent })).text);
  const latencies = times.filter(([name]) => replies.has(name)).map(([name, atMs]) => atMs - replies.get(name));
  if (latencies.length !== uploads) throw new Error(`${latencies.length} of ${uploads} arrived`);
  rows.push([
    'from the reply to an upload to the receiver',
    `p50 ${quantile(latencies, 0.5).toFixed(2)} ms, p99 ${quantile(latencies, 0.99).toFixed(2)} ms`,
    `${uploads} uploads, one at a time; below 0 the receiver has it first`,
  ]);
  await server.end('SIGTERM');
}

// 4. A receiver that is down: what waits, waits on disk.
{
  const cwd = project('waiting', waiting, { url: `${receiverUrl}hang` });
  const server = started([svc, 'serve', '--log-level', 'error'], cwd);
  const [, url] = await server.line(/(http:\S+)\/\n/);
  const startMs = performance.now();
  for (let index = 0; performance.now() - startMs < (options.smoke ? 200 : 5000); index++)
    await send(`${url}/home/w${index % 100}.txt`, { method: 'PUT', body: 'x', agent });
  rows.push([
    `${waiting.toLocaleString('en')} events waiting for a dead receiver, and uploads going on`,
    `peak RSS ${memoryMiB(server.child.pid, 'VmHWM').toFixed(0)} MiB`,
    'aim: under 150 MiB',
  ]);
  await server.end('SIGKILL');
  remove(cwd);
}

// 5. Replay of a journal.
{
  const cwd = project('replay', batched, { batch_size: 100 });
  await send(`${receiverUrl}goal=${batched}`, { agent });
  const startMs = performance.now();
  const replay = started([svc, 'webhook-replay', '--concurrency', '4'], cwd);
  await replay.ended;
  rows.push([
    '`svc webhook-replay`, `batch_size: 100`, `--concurrency 4`',
    `${(batched / ((performance.now() - startMs) / 1000)).toFixed(0)} events/s`,
    'start-up included',
  ]);
}

await endAll();
agent.destroy();
remove(folder);
const machine = `Node ${process.version}, ${cpus().length} cores, ${new Date().toISOString().slice(0, 10)}, medians of ${rounds} rounds; sender and receiver share the cores.`;
publish('webhooks', `${table(['events to webhooks', 'measured', ''], rows)}\n\n${machine}`, options.write);
