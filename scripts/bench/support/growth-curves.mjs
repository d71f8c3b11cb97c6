// The costs whose growth is measured: what is made of each size, and what is asked of it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { executable } from './benchmark.mjs';
import { cpuOfConnections } from './connections.mjs';
import { started } from './exchange.mjs';
import { bulk, single, throughput } from './load.mjs';
import { cpuSeconds, memoryMiB } from './machine.mjs';
import { Servers } from './servers.mjs';
import { makeProject } from './webhook-project.mjs';

function sizeText(bytes) {
  const power = Math.floor(Math.log2(bytes) / 10);
  return `${bytes / 2 ** (10 * power)} ${['B', 'KiB', 'MiB', 'GiB'][power]}`;
}
const countText = (count) => count.toLocaleString('en');

/**
 * The curves: `sizes` in rising order, `smoke` for a try; `lines` with their unit and the power of the size by which their work
 * grows; `measure` gives the figures of each line for a size, one of each round.
 *
 * @param options.folder for configurations and journals; @param options.home what is served
 */
export function growthCurves({ folder, home }) {
  let numbered = 0;
  /** A server of its own for a measurement. */
  async function withServer(look, more = {}) {
    const servers = new Servers(folder, home);
    try {
      return await look(await servers.svc({ name: `growth-${numbered++}`, ...more }));
    } finally {
      await servers.stop();
    }
  }

  /** CPU of the server in ms for one request of several alike, and the time until the first byte of the last. */
  async function cpuMs(server, request, count = 1) {
    const before = cpuSeconds(server.pid);
    let reply;
    for (let index = 0; index < count; index++) {
      reply = await single(server, request);
      if (reply.status >= 300) throw new Error(`${request.method ?? 'GET'} ${request.path} gave ${reply.status}`);
    }
    return { ms: ((cpuSeconds(server.pid) - before) * 1000) / count, firstMs: reply.firstMs };
  }

  function push(found, values) {
    for (const [name, value] of Object.entries(values)) found[name] = [...(found[name] ?? []), value];
    return found;
  }

  async function folders(count, rounds) {
    const name = `list-${count}`;
    mkdirSync(join(home, name));
    for (let index = 0; index < count; index++) writeFileSync(join(home, name, `file number ${index}.png`), '');
    const agent = new Agent({ keepAlive: true });
    const found = await withServer(async (server) => {
      const path = server.at(`${name}/`);
      const kinds = {
        PROPFIND: { method: 'PROPFIND', headers: { depth: '1' }, path, agent },
        JSON: { headers: { accept: 'application/json' }, path, agent },
        HTML: { headers: { accept: 'text/html' }, path, agent },
      };
      const results = {};
      const repeats = Math.max(1, Math.round(3000 / count));
      for (const request of Object.values(kinds)) await cpuMs(server, request, repeats);
      const restMiB = memoryMiB(server.pid);
      for (let round = 0; round < rounds; round++)
        for (const [kind, request] of Object.entries(kinds)) {
          const { ms, firstMs } = await cpuMs(server, request, repeats);
          push(results, { [kind]: ms, [`first byte of ${kind}`]: firstMs });
        }
      return push(results, { 'memory (RSS) beyond that before': Math.max(memoryMiB(server.pid, 'VmHWM') - restMiB, 1) });
    });
    agent.destroy();
    rmSync(join(home, name), { recursive: true });
    return found;
  }

  async function files(bytes, rounds) {
    writeFileSync(join(home, 'grown'), '');
    truncateSync(join(home, 'grown'), bytes);
    mkdirSync(join(home, 'put'), { recursive: true });
    return withServer(async (server) => {
      const agent = new Agent({ keepAlive: true });
      const repeats = Math.max(1, Math.min(200, Math.round(2 ** 24 / bytes)));
      const isLarge = bytes > 2 ** 20;
      const get = () =>
        isLarge ? bulk(server, { path: server.at('grown') }) : cpuMs(server, { path: server.at('grown'), agent }, repeats);
      const body = isLarge ? undefined : Buffer.alloc(bytes, 'y');
      const put = () =>
        isLarge
          ? bulk(server, { method: 'PUT', path: server.at('put/grown'), bodyBytes: bytes })
          : cpuMs(server, { method: 'PUT', path: server.at('put/grown'), body, agent }, repeats);
      const inMs = ({ ms, cpuS }) => ms ?? (cpuS * 1000 * bytes) / 2 ** 30;
      const results = {};
      for (let round = 0; round <= rounds; round++) {
        const figures = { GET: inMs(await get()) };
        // What is uploaded is on the disk: so much, and no more.
        if (bytes <= 2 ** 30) figures.PUT = inMs(await put());
        if (round > 0 || bytes > 2 ** 30) push(results, figures);
      }
      agent.destroy();
      rmSync(join(home, 'put'), { recursive: true });
      return results;
    });
  }

  function connections(count, rounds) {
    return withServer(async (server) => {
      const results = {};
      for (let round = 0; round <= rounds; round++) {
        const cpuUs = await cpuOfConnections(server, { path: server.at('small'), count, seconds: 3 });
        // The first round compiles what is hot.
        if (round > 0) push(results, { 'GET of 1 KiB': cpuUs });
      }
      return results;
    });
  }

  async function journals(count, rounds) {
    const cwd = join(folder, `journal-${count}`);
    makeProject(cwd, count);
    const results = {};
    for (let round = 0; round < rounds; round++) {
      const server = started([executable, 'serve', '--log-level', 'error'], cwd);
      const [, url] = await server.line(/(http:\S+)\/\n/);
      const startMs = cpuSeconds(server.child.pid) * 1000;
      const target = { port: Number(new URL(url).port), pid: server.child.pid, headers: {} };
      const agent = new Agent({ keepAlive: true });
      const put = { method: 'PUT', path: '/home/file', body: 'x', agent };
      await cpuMs(target, put, 20);
      const { ms } = await cpuMs(target, put, 100);
      agent.destroy();
      const miB = memoryMiB(server.child.pid, 'VmHWM');
      await server.end('SIGTERM');
      const beganMs = performance.now();
      const search = spawnSync(process.execPath, [executable, 'events', '--since', '1m', '--limit', '5', '--json'], { cwd });
      if (search.status !== 0 || search.stdout.length === 0) throw new Error(`svc events: ${search.stderr}`);
      const searchMs = performance.now() - beganMs;
      push(results, { start: startMs, PUT: ms, 'svc events --since 1m': searchMs, 'memory (RSS)': miB });
    }
    rmSync(cwd, { recursive: true });
    return results;
  }

  /** Start, memory, and CPU of a GET with what a configuration has more. */
  async function configured(more, rounds) {
    const results = {};
    for (let round = 0; round < rounds; round++)
      await withServer(
        async (server) => {
          const load = { path: server.at('small'), connections: 4, seconds: 1, folder };
          await throughput(server, load);
          const { cpuUs } = await throughput(server, load);
          push(results, { start: server.startCpuMs, GET: cpuUs / 1000, 'memory (RSS)': memoryMiB(server.pid) });
        },
        { more },
      );
    return results;
  }

  const decades = (from, to) => Array.from({ length: to - from + 1 }, (_, index) => 10 ** (from + index));
  const ofConfiguration = (getWork) => ({
    start: { unit: 'ms', work: 1 },
    GET: { unit: 'ms', work: getWork },
    'memory (RSS)': { unit: 'MiB', work: 1 },
  });
  return {
    folders: {
      title: 'A listing, by entries of the folder',
      xLabel: 'entries',
      xText: countText,
      yUnit: 'ms',
      sizes: decades(2, 6),
      smoke: 100,
      lines: {
        PROPFIND: { unit: 'ms', work: 1 },
        JSON: { unit: 'ms', work: 1 },
        HTML: { unit: 'ms', work: 1 },
        'first byte of PROPFIND': { unit: 'ms until then', work: 1 },
        'first byte of HTML': { unit: 'ms until then', work: 1 },
        'memory (RSS) beyond that before': { unit: 'MiB', work: 1 },
      },
      measure: folders,
    },
    files: {
      title: 'A file, by its size',
      xLabel: 'size',
      xText: sizeText,
      yUnit: 'ms',
      sizes: [2 ** 10, 2 ** 14, 2 ** 18, 2 ** 22, 2 ** 26, 2 ** 30, 2 ** 34],
      smoke: 2 ** 12,
      lines: { GET: { unit: 'ms', work: 1 }, PUT: { unit: 'ms', work: 1 } },
      measure: files,
    },
    connections: {
      title: 'A request, by connections at once',
      xLabel: 'connections',
      xText: countText,
      yUnit: 'µs',
      sizes: decades(0, 4),
      smoke: 10,
      lines: { 'GET of 1 KiB': { unit: 'µs', work: 0 } },
      measure: connections,
    },
    journals: {
      title: 'Start and upload, by events in the journal',
      xLabel: 'events',
      xText: countText,
      yUnit: 'ms',
      sizes: decades(3, 7),
      smoke: 1000,
      lines: {
        start: { unit: 'ms', work: 0 },
        PUT: { unit: 'ms', work: 0 },
        'svc events --since 1m': { unit: 'ms elapsed', work: 0 },
        'memory (RSS)': { unit: 'MiB', work: 0 },
      },
      measure: journals,
    },
    accounts: {
      title: 'Start and request, by accounts of the accounts file',
      xLabel: 'accounts',
      xText: countText,
      yUnit: 'ms',
      sizes: decades(0, 5),
      smoke: 10,
      lines: ofConfiguration(0),
      measure: (count, rounds) => configured({ accounts: count }, rounds),
    },
    rules: {
      title: 'Start and request, by path rules of the group',
      xLabel: 'rules',
      xText: countText,
      yUnit: 'ms',
      sizes: decades(0, 5),
      smoke: 10,
      lines: ofConfiguration(1),
      measure: (count, rounds) =>
        configured(
          {
            permissions: [['allow-full-control'], ...Array.from({ length: count }, (_, index) => [`/f${index}/*`, 'allow-read'])],
          },
          rounds,
        ),
    },
  };
}
