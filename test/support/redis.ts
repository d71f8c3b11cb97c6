import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Identity } from '../../src/auth/credentials.ts';
import { FileEventLog, journalFolder } from '../../src/events/journal/file-event-log.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import { RedisLink, type RedisLinkOptions } from '../../src/lib/redis/redis-link.ts';
import { RedisEventLog } from '../../src/state/redis/journal/redis-event-log.ts';
import { RedisSessions } from '../../src/state/redis/sessions.ts';
import { readAll } from '../contracts/event-log.ts';
import { runProgram } from './program.ts';
import { learnFromText } from './secrets.ts';
import { type Ending, temporaryFolder } from './temp.ts';

/** Opens the journal of one node. */
export function openJournal(link: RedisLink, folder: string, node = 'n1'): Promise<RedisEventLog> {
  const local = new FileEventLog({
    folder: journalFolder(folder),
    maximumFileSizeBytes: 1_000_000,
    retentionDays: 30,
    clock: systemClock,
    log: silentLog,
  });
  return RedisEventLog.open({ link, local, node, dataFolderPath: folder, retentionDays: 30, clock: systemClock, log: silentLog });
}

/** Returns the texts of all events in a journal. */
export async function journalTexts(log: RedisEventLog): Promise<string[]> {
  return (await readAll(log)).map(({ event }) => String(event.data.text));
}

/** Returns the numbers from `from` to below `to`, as texts. */
export function row(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}

/** Options of sessions that stay valid for a minute without a request. */
export const longSessions = {
  lifetimes: () => ({ idleMs: 60_000, maximumAgeMs: 120_000 }),
  onTimeout: () => {},
  clock: systemClock,
  log: silentLog,
};

/**
 * Returns the data of a login to an account whose UUID equals its name. The fingerprints are those of the account's passwords; the login
 * used the first of them.
 */
export function loginOf(name: string, fingerprints = ['first']): Identity {
  return { name, uuid: name, method: { uuid: 'm', type: 'application' }, proof: { type: 'password', fingerprints: [...fingerprints] } };
}

/** Returns the sessions of a node, which are closed with the test. */
export function sessionsOn(t: Ending, link: RedisLink): RedisSessions {
  const sessions = new RedisSessions(link, 'web', longSessions);
  t.after(() => sessions.close());
  return sessions;
}

/** A Redis of one test, with functions to disturb it. */
export interface TestRedis {
  port: number;
  url: string;
  /** Sends one inline command on a separate connection, and returns the raw reply. */
  command(line: string): Promise<string>;
  /** Kills Redis with SIGKILL. Data that was appended to its file within the last second may be lost. */
  kill(): Promise<void>;
  /** Starts Redis again with the same data and port. */
  restart(): Promise<void>;
  pause(): void;
  resume(): void;
}

/**
 * Returns a free port below the system's range of dynamic ports (ip_local_port_range in ip(7)). Otherwise a connection of another process
 * might take the port before the test listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(port)) return port;
  }
}

/** Returns whether a port is free. */
export function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Makes Redis look as if nodes had used it since its start, so that a node does not wait for other nodes. */
export async function markAsUsed(command: TestRedis['command']): Promise<void> {
  const runId = /run_id:(\w+)/.exec(await command('INFO server'))?.[1];
  await command(`SET {svc}:run ${runId}`);
}

export interface RedisOptions {
  /** Whether Redis looks as if no node has used it yet. */
  isFresh?: boolean;
  /** Options of `redis-cli`, for a Redis that requires credentials or TLS. */
  cli?: string[];
  /** Returns the options with which Redis listens; by default on a port without TLS. */
  listen?: (port: number) => string[];
  /** Configuration of a Sentinel. With it, the server is a Sentinel. */
  sentinel?: string;
  port?: number;
}

/** Starts a Redis on a free port. It is stopped at the end of the test. */
export async function startRedis(t: Ending, options: string[] = [], how: RedisOptions = {}): Promise<TestRedis> {
  const { listen = (own: number) => ['--port', String(own)], cli, sentinel } = how;
  const folder = temporaryFolder(t);
  const port = how.port ?? (await freePort());
  const command = cli ? (line: string) => viaCli(folder, ['-p', String(port), ...cli], line) : (line: string) => inline(port, line);
  const file = join(folder, 'sentinel.conf');
  if (sentinel !== undefined) writeFileSync(file, sentinel);
  let child: ChildProcess | undefined;
  const launch = async () => {
    const data = sentinel === undefined ? ['--save', '', '--appendonly', 'yes'] : ['--sentinel'];
    const args = [...(sentinel === undefined ? [] : [file]), ...listen(port), '--bind', '127.0.0.1', '--dir', folder, ...data, ...options];
    const started = spawn('redis-server', args, { stdio: 'ignore' });
    child = started;
    for (let attempt = 0; attempt < 1000 && started.exitCode === null; attempt++) {
      if (/^\+?PONG/.test(await command('PING').catch(() => ''))) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('redis-server did not start');
  };
  const kill = () =>
    new Promise<void>((resolve) => {
      const ended = child;
      if (!ended || ended.exitCode !== null || ended.signalCode !== null) return resolve();
      ended.once('exit', () => resolve());
      ended.kill('SIGKILL');
    });
  t.after(kill);
  await launch();
  if (!how.isFresh) await markAsUsed(command);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command,
    kill,
    restart: launch,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
  };
}

async function viaCli(folder: string, args: string[], line: string): Promise<string> {
  const { code, output } = await runProgram('redis-cli', ['-h', '127.0.0.1', '--no-auth-warning', ...args, ...line.split(' ')], {
    cwd: folder,
  });
  if (code !== 0) throw new Error(output);
  return output;
}

/**
 * Time in milliseconds that the nodes of a test wait for each other after Redis lost data. Each node checks Redis every half second, so it
 * notices the loss within this time.
 */
const settleMs = 700;

/** Opens a link to a Redis. The link is closed at the end of the test. */
export async function linkTo(t: Ending, url: string, options: Partial<RedisLinkOptions> = {}): Promise<RedisLink> {
  learnFromText(url, 'a test of Redis');
  const link = new RedisLink({ url, prefix: 'svc', clock: systemClock, log: silentLog, settleMs, ...options });
  t.after(() => link.close());
  await link.start();
  return link;
}

/** Starts a proxy to a port. A test can cut it: bytes are then neither forwarded nor refused, as in a broken network. */
export async function startProxy(t: TestContext, target: number): Promise<{ port: number; cut(): void; mend(): void }> {
  const pairs = new Set<[Socket, Socket]>();
  let isCut = false;
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const pair: [Socket, Socket] = [client, upstream];
    pairs.add(pair);
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.on('data', (chunk) => to.write(chunk));
      from.on('error', () => {});
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
      if (isCut) from.pause();
    }
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as { port: number }).port,
    cut() {
      isCut = true;
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    mend() {
      isCut = false;
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
  };
}

function inline(port: number, line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\n`));
    socket.setTimeout(2000, () => socket.destroy(new Error('no answer')));
    socket.once('data', (chunk) => {
      resolve(chunk.toString('utf8'));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
