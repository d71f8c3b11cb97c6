import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';

/** The answer of a receiver to a request. The default is 200 without a body. */
export interface Answer {
  status?: number;
  reason?: string;
  headers?: Record<string, string>;
  body?: string;
  delayMs?: number;
  /** Whether the receiver does not answer until `release` is called. */
  isHeld?: boolean;
  fault?: 'reset' | 'close' | 'hang' | 'garbage' | 'short' | 'header-only' | 'endless';
}

export interface Received {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** Time when the request had arrived completely, as Unix time in milliseconds. */
  atMs: number;
}

export interface Receiver {
  url: string;
  /** The requests so far. Another process reports them, so a reply of the service can come before its request is in this list. */
  requests: Received[];
  /** Resolves when this number of requests has arrived; fails after ten seconds. */
  received(count: number): Promise<Received[]>;
  /** Returns the events of all requests so far, or of those for which `passes` is true. The bodies must be JSON. */
  events(passes?: (request: Received, index: number) => boolean): ServiceEvent[];
  release(): void;
  stop(): void;
}

interface ReceiverOptions {
  script?: Answer[];
  repeat?: boolean;
  otherwise?: Answer;
  tls?: { key: string; cert: string };
  port?: number;
}

interface Told {
  receiver: number;
  port?: number;
  request?: Omit<Received, 'body'> & { body: string };
}

let host: ChildProcess | undefined;
let started = 0;
let running = 0;

/** Starts a receiver, which is stopped at the end of the test. All receivers of a test process share one process. */
export async function startReceiver(t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> {
  host ??= startHost();
  const to = host;
  const receiver = started++;
  const requests: Received[] = [];
  const waiting = new Set<() => void>();
  let isStopped = false;
  if (running++ === 0) to.ref();
  const stop = () => {
    if (isStopped) return;
    isStopped = true;
    to.off('message', hear);
    if (to.connected) to.send({ receiver, action: 'stop' });
    if (--running === 0) to.unref();
  };
  t.after(stop);
  let hear: (told: Told) => void = () => {};
  const port = await new Promise<number>((resolve, reject) => {
    hear = (told) => {
      if (told.receiver !== receiver) return;
      if (told.port !== undefined) resolve(told.port);
      if (told.request) requests.push({ ...told.request, body: Buffer.from(told.request.body, 'base64') });
      for (const look of waiting) look();
    };
    to.on('message', hear);
    to.once('exit', () => reject(new Error('the process of the receivers ended')));
    to.send({ receiver, action: 'start', options });
  });
  const received = (count: number) =>
    new Promise<Received[]>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(look);
        reject(new assert.AssertionError({ message: `${requests.length} requests of ${count} after ten seconds` }));
      }, 10_000);
      const look = () => {
        if (requests.length < count) return;
        clearTimeout(timer);
        waiting.delete(look);
        resolve(requests.slice(0, count));
      };
      waiting.add(look);
      look();
    });
  return {
    url: `${options.tls ? 'https' : 'http'}://127.0.0.1:${port}/hook`,
    requests,
    received,
    events: (passes = () => true) =>
      requests.filter(passes).flatMap(({ body }) => (JSON.parse(body.toString('utf8')) as { events: ServiceEvent[] }).events),
    release: () => void to.send({ receiver, action: 'release' }),
    stop,
  };
}

function startHost(): ChildProcess {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const program = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/receiver.mjs');
  const child = fork(program, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  child.setMaxListeners(0);
  child.once('exit', () => {
    host = undefined;
  });
  // The process of the receivers ends when its channel closes, which happens when the test process ends. It must not keep the test process
  // running.
  child.channel?.unref();
  child.unref();
  return child;
}

/** Waits until a condition is true. After half a minute it fails with the name of the condition. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 30_000;
  // The pause grows, because the check may be expensive. For example, it may read a journal each time.
  for (let pauseMs = 5; !(await holds()); pauseMs = Math.min(pauseMs * 1.5, 50)) {
    if (performance.now() > endMs) assert.fail(`waited half a minute for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
