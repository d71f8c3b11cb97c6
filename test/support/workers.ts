import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { type Running, start } from './child.ts';
import { Client, type TestReply, type TestRequest } from './client.ts';
import { readEvents } from './journal.ts';
import { until } from './receiver.ts';
import { type TestConfig, testSections } from './server.ts';
import { temporaryFolder } from './temp.ts';

/** `svc serve --workers` in processes of its own. */
export interface TestFleet extends Client {
  running: Running;
  folder: string;
  home: string;
  dataFolder: string;
  /** Process IDs of the workers at present. */
  workers(): number[];
  /** SIGKILL to some workers. @returns when they are gone */
  kill(pids: readonly number[]): Promise<void>;
  /** Resolves when so many workers run and have said so. */
  ready(count: number): Promise<void>;
  /** Numbers of the workers that answered so far, of the log. */
  answered(): Set<number>;
  /** Sends a request on connections of its own until each of so many workers answered one from now on. @returns the replies */
  everywhere<Reply = TestReply>(count: number, request: () => Promise<Reply>): Promise<Reply[]>;
  /** All events so far; fails on a torn line. */
  events(): Promise<ServiceEvent[]>;
  count(id: number): Promise<number>;
  /** Writes another configuration, not loaded yet. */
  configure(config: TestConfig): Promise<void>;
  /** SIGTERM. @returns the exit code */
  stop(): Promise<number | null>;
}

function content(folder: string, config: TestConfig) {
  return testSections(folder, { ...config, server: { shutdown_timeout: 10, ...config.server } });
}

/** Starts a server with workers, ended with the test. */
export async function startFleet(
  t: TestContext,
  workers: number,
  config: TestConfig = {},
  folder = temporaryFolder(t),
): Promise<TestFleet> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  const file = join(folder, 'svc.config.json');
  const configure = async (wanted: TestConfig) => writeFileSync(file, JSON.stringify(await content(folder, wanted)));
  await configure(config);
  const args = ['serve', '--workers', String(workers), '--log-level', 'debug', '--log-format', 'json'];
  const running = start(t, args, { cwd: folder });
  const [, url = ''] = await running.line(/listening on (https?:\S+)\/\n/);
  const client = new Client(url);
  const answeredSince = (offset: number) =>
    new Set(
      [
        ...running
          .stderr()
          .slice(offset)
          .matchAll(/"message":"request",.*"worker":(\d+)|"worker":(\d+),"request_id"/g),
      ].map((match) => Number(match[1] ?? match[2])),
    );
  const fleet: Omit<TestFleet, keyof Client> = {
    running,
    folder,
    home: join(folder, 'home'),
    dataFolder: (JSON.parse(readFileSync(file, 'utf8')) as { server: { data_folder_path: string } }).server.data_folder_path,
    workers: () => childrenOf(running.child.pid as number),
    kill: (pids) => {
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      return until('they are gone', () => !pids.some(isRunning));
    },
    ready: (count) =>
      until(`${count} workers`, () => {
        const pids = fleet.workers();
        return (
          pids.length === count &&
          pids.every(isRunning) &&
          pids.every((pid) => running.stderr().includes(`"worker started","worker":`) && running.stderr().includes(`"pid":${pid}}`))
        );
      }),
    answered: () => answeredSince(0),
    async everywhere<Reply>(count: number, request: () => Promise<Reply>) {
      const offset = running.stderr().length;
      const replies: Reply[] = [];
      for (let attempt = 0; attempt < 200; attempt++) {
        replies.push(await request());
        if (replies.length >= 2 * count && answeredSince(offset).size >= count) return replies;
      }
      return assert.fail(`of ${count} workers only ${[...answeredSince(offset)]} answered`);
    },
    async events() {
      const all: ServiceEvent[] = [];
      for await (const { event } of readEvents(journalFolder(fleet.dataFolder), undefined, (bad) => assert.fail(`bad line: ${bad.reason}`)))
        all.push(event);
      return all;
    },
    count: async (id) => (await fleet.events()).filter((event) => event.id === String(id)).length,
    configure,
    async stop() {
      running.child.kill('SIGTERM');
      return (await running.ended).code;
    },
  };
  return Object.assign(client, fleet);
}

/** Child processes of a process (proc(5)). */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Whether a process is there and no zombie. */
export function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** A request within a session. */
export function within(session: string, more: TestRequest = {}): TestRequest {
  return { ...more, headers: { accept: 'application/json', authorization: `session ${session}`, ...more.headers } };
}
