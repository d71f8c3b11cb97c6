import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';

/** How a receiver answers a request; without members 200 and no body. */
export interface Answer {
  status?: number;
  reason?: string;
  headers?: Record<string, string>;
  body?: string;
  delayMs?: number;
  /** Not answered before `release`. */
  isHeld?: boolean;
  fault?: 'reset' | 'close' | 'hang' | 'garbage' | 'short' | 'header-only' | 'endless';
}

/** A request as a receiver got it. */
export interface Received {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  /** When it was whole, Unix time in milliseconds. */
  atMs: number;
}

export interface Receiver {
  url: string;
  /** Requests so far. */
  requests: Received[];
  /** Resolves when there are so many requests; fails after ten seconds. */
  received(count: number): Promise<Received[]>;
  /** The events of all requests so far, or of those that pass; the bodies must be JSON. */
  events(passes?: (request: Received, index: number) => boolean): ServiceEvent[];
  /** Answers what is held back by now. */
  release(): void;
  stop(): void;
}

/** Starts a receiver in a process of its own, ended with the test. */
export async function startReceiver(
  t: TestContext,
  options: { script?: Answer[]; repeat?: boolean; otherwise?: Answer; tls?: { key: string; cert: string }; port?: number } = {},
): Promise<Receiver> {
  const program = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/receiver.mjs');
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const stop = () => void child.kill('SIGKILL');
  t.after(stop);
  const requests: Received[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  const port = await new Promise<string>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) {
        if (!line.startsWith('{')) {
          resolve(line);
          continue;
        }
        const request = JSON.parse(line) as Omit<Received, 'body'> & { body: string };
        requests.push({ ...request, body: Buffer.from(request.body, 'base64') });
      }
      for (const look of waiting) look();
    });
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
    release: () => void child.kill('SIGUSR2'),
    stop,
  };
}

/** Waits until something holds; fails after ten seconds, naming it. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 10_000;
  // What is asked for may cost more than what it waits for: a journal is read each time.
  for (let pauseMs = 5; !(await holds()); pauseMs = Math.min(pauseMs * 1.5, 50)) {
    if (performance.now() > endMs) assert.fail(`waited ten seconds for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
