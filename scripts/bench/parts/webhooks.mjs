// Measures how svc sends events to a webhook: deliveries, latency, a long backlog, and replay. Sender and receiver share the cores.
import { Agent } from 'node:http';
import { join } from 'node:path';
import { remove } from '../support/benchmark.mjs';
import { send, started } from '../support/exchange.mjs';
import { cpuSeconds, memoryMiB } from '../support/machine.mjs';
import { makeProject } from '../support/webhook-project.mjs';

const quantile = (values, part) => values.toSorted((a, b) => a - b)[Math.floor(values.length * part)];

export default async function webhooks({ isSmoke, folder, builds }) {
  const [waiting, singles, batched, uploads] = isSmoke ? [5000, 500, 5000, 50] : [1_000_000, 20_000, 150_000, 1000];
  const receiver = started([new URL('../support/processes/event-receiver.mjs', import.meta.url).pathname], folder);
  const [url] = await receiver.line(/http:\S+/);
  const agent = new Agent({ keepAlive: true });
  const goal = (count) => send(`${url}goal=${count}`, { agent });
  let projects = 0;
  let reaches = 0;

  /** Waits until the receiver has as many events as its goal. @returns the time from the first request until then, in milliseconds */
  async function nextReach() {
    const [text] = await receiver.line(new RegExp(`(?:reached [^\\n]*\\n[^]*?){${++reaches}}`));
    return Number(text.trimEnd().split(' ').at(-1));
  }

  /** Runs `svc serve` or another command, with a journal of undelivered events. @returns the result of `look` */
  async function withProject({ executable }, count, handler, look, command = ['serve']) {
    const cwd = join(folder, `project-${projects++}`);
    makeProject(cwd, count, url, handler);
    const server = started([executable, ...command], cwd);
    try {
      return await look(server);
    } finally {
      await server.end('SIGKILL');
      remove(cwd);
    }
  }

  const deliver = (count, handler) => async (build) => {
    await goal(count);
    return withProject(build, count, handler, async ({ child }) => {
      const ms = await nextReach();
      return { value: count / (ms / 1000), cpuUs: (cpuSeconds(child.pid) * 1e6) / count };
    });
  };
  const put = async (base, name) => {
    const { status, atMs } = await send(`${base}/home/${name}`, { method: 'PUT', body: 'x', agent });
    if (status !== 201) throw new Error(`status ${status}`);
    return atMs;
  };
  const latency = ['p50', 'p99'].map((name) => `time from the reply to an upload until its event arrives, ${name}`);
  /**
   * Measures the time from the reply to an upload until the event arrives at the receiver. It is negative if the event arrives before the
   * reply.
   */
  const latencies = (build) =>
    withProject(build, 0, {}, async ({ line }) => {
      const [, base] = await line(/(http:\S+)\/\n/);
      await goal(uploads);
      const replies = new Map();
      for (let index = 0; index < uploads; index++) replies.set(`u${index}.txt`, await put(base, `u${index}.txt`));
      await nextReach();
      const times = JSON.parse((await send(`${url}times`, { agent })).text).filter(([name]) => replies.has(name));
      const found = times.map(([name, atMs]) => atMs - replies.get(name));
      return Object.fromEntries(latency.map((name, index) => [name, { value: quantile(found, [0.5, 0.99][index]) }]));
    });
  /** Measures the maximum memory during a backlog, while the receiver does not reply. The waiting events are on disk. */
  const backlog = (build) =>
    withProject(build, waiting, { url: `${url}hang` }, async ({ child, line }) => {
      const [, base] = await line(/(http:\S+)\/\n/);
      for (const end = performance.now() + (isSmoke ? 200 : 5000); performance.now() < end; ) await put(base, 'w.txt');
      return { value: memoryMiB(child.pid, 'VmHWM') };
    });
  const replay = async (build) => {
    await goal(batched);
    const look = async ({ ended }) => {
      const startedMs = performance.now();
      await Promise.all([ended, nextReach()]);
      return { value: batched / ((performance.now() - startedMs) / 1000) };
    };
    return withProject(build, batched, { batch_size: 100 }, look, ['webhook-replay', '--concurrency', '4']);
  };
  const on = () => builds;
  return {
    load: 'node:http',
    each: 'CPU of svc per event',
    isWarm: true,
    workloads: [
      { name: 'one event per request, in order', unit: '/s', on, action: deliver(singles, {}) },
      { name: 'one event per request, `concurrency: 8`', unit: '/s', on, action: deliver(singles, { concurrency: 8 }) },
      { name: '`batch_size: 100`, in order', unit: '/s', on, action: deliver(batched, { batch_size: 100 }) },
      { figures: Object.fromEntries(latency.map((name) => [name, 'ms'])), on, action: latencies },
      { name: `peak memory, ${waiting.toLocaleString('en')} events waiting for a dead receiver`, unit: 'MiB', on, action: backlog },
      { name: '`svc webhook-replay`, `batch_size: 100`, `--concurrency 4`, including its start', unit: '/s', on, action: replay },
    ],
    stop: () => agent.destroy(),
  };
}
