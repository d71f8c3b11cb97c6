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

/** The journal of one node. */
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

/** The texts of all its events. */
export async function journalTexts(log: RedisEventLog): Promise<string[]> {
  return (await readAll(log)).map(({ event }) => String(event.data.text));
}

/** The numbers from one to below another, as texts. */
export function row(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => String(from + index));
}

/** Sessions that live for a minute without a request. */
export const longSessions = {
  lifetimes: () => ({ idleMs: 60_000, maximumAgeMs: 120_000 }),
  onTimeout: () => {},
  clock: systemClock,
  log: silentLog,
};

/** Who logged in to an account whose UUID is its name, with the first of the passwords that have these fingerprints. */
export function loginOf(name: string, fingerprints = ['first']): Identity {
  return { name, uuid: name, method: { uuid: 'm', type: 'application' }, proof: { type: 'password', fingerprints: [...fingerprints] } };
}

/** The sessions of a node, closed with the test. */
export function sessionsOn(t: Ending, link: RedisLink): RedisSessions {
  const sessions = new RedisSessions(link, 'web', longSessions);
  t.after(() => sessions.close());
  return sessions;
}

/** A Redis of one test, and what can be done to it. */
export interface TestRedis {
  port: number;
  url: string;
  /** Sends one command on a connection of its own, inline; resolves with the raw reply. */
  command(line: string): Promise<string>;
  /** SIGKILL; what was appended to its file within the last second may be lost. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port. */
  restart(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
}

/**
 * A port that nobody listens on. It is below those that the system gives away itself (ip_local_port_range in ip(7)): one of
 * these may be a connection's of another process before it is listened on.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    if (await isFree(port)) return port;
  }
}

/** Says whether nobody listens on a port. */
export function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Has nodes take a Redis for one that others have used since its start, so that they do not wait for those. */
export async function markAsUsed(command: TestRedis['command']): Promise<void> {
  const runId = /run_id:(\w+)/.exec(await command('INFO server'))?.[1];
  await command(`SET {svc}:run ${runId}`);
}

export interface RedisOptions {
  /** Whether nobody has used it yet. */
  isFresh?: boolean;
  /** Options of `redis-cli`, for one that lets in only who is known, or only over TLS. */
  cli?: string[];
  /** How it listens; by default on a plain port. */
  listen?: (port: number) => string[];
  /** Configuration of a Sentinel, which this is to be then. */
  sentinel?: string;
  port?: number;
}

/** Starts a Redis on a free port, ended with the test. */
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

/** Long enough for the links of a test to find out what happened: they look every half second. */
const settleMs = 700;

/** A link to it, closed with the test. @param settleMs how long nodes wait for one another after a loss */
export async function linkTo(t: Ending, url: string, options: Partial<RedisLinkOptions> = {}): Promise<RedisLink> {
  learnFromText(url, 'a test of Redis');
  const link = new RedisLink({ url, prefix: 'svc', clock: systemClock, log: silentLog, settleMs, ...options });
  t.after(() => link.close());
  await link.start();
  return link;
}

/** A way to a port that can be cut: bytes are then neither forwarded nor refused, as on a broken network. */
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
