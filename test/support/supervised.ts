import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { childrenOf, isRunning, type Running, run, start } from './child.ts';
import { Client, type TestReply } from './client.ts';
import { until } from './receiver.ts';
import { freePort, startRedis, type TestRedis } from './redis.ts';
import { type TestConfig, testSections } from './server.ts';
import { temporaryFolder } from './temp.ts';

/** A running `svc serve --workers` with its own Redis. */
export interface TestSupervised extends Client {
  running: Running;
  redis: TestRedis;
  folder: string;
  home: string;
  dataFolder: string;
  /** Returns the process IDs of the current nodes. */
  nodes(): number[];
  /** Kills some nodes with SIGKILL, and waits until they have ended. */
  kill(pids: readonly number[]): Promise<void>;
  /** Resolves when `count` nodes have reported that they run. */
  ready(count: number): Promise<void>;
  /** Sends a request on new connections until `count` different nodes have answered it. @returns the replies */
  everywhere<Reply = TestReply>(count: number, request: () => Promise<Reply>): Promise<Reply[]>;
  /** Returns all events in the shared journal. */
  events(): Promise<ServiceEvent[]>;
  count(id: number): Promise<number>;
  /** Writes another configuration, which is not loaded yet. */
  configure(config: TestConfig): Promise<void>;
  /** Sends SIGTERM. @returns the exit code */
  stop(): Promise<number | null>;
}

/** Starts nodes under a supervisor. All are stopped at the end of the test. */
export async function startSupervised(
  t: TestContext,
  nodes: number,
  config: TestConfig = {},
  { folder = temporaryFolder(t), env = {} }: { folder?: string; env?: Record<string, string> } = {},
): Promise<TestSupervised> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  const redis = await startRedis(t);
  const file = join(folder, 'svc.config.json');
  const ports = new Map<string, number>();
  const configure = async (wanted: TestConfig) => {
    const server = { shutdown_timeout: 10, state: { type: 'redis', url: redis.url }, ...wanted.server };
    const sections = await testSections(folder, { ...wanted, server });
    // Ports must be fixed. Otherwise a node that is replaced while no other node runs would get a different port.
    for (const [uuid, service] of Object.entries(sections.services) as [string, { port?: number }][]) {
      if (service.port !== 0) continue;
      service.port = ports.get(uuid) ?? (await freePort());
      ports.set(uuid, service.port);
    }
    writeFileSync(file, JSON.stringify(sections));
  };
  await configure(config);
  const running = start(t, ['serve', '--workers', String(nodes), '--log-level', 'debug', '--log-format', 'json'], { cwd: folder, env });
  const [, url = ''] = await running.line(/listening on (https?:\S+)\/\n/);
  const answeredSince = (offset: number) => {
    const lines = running.stderr().slice(offset).split('\n');
    return new Set(lines.flatMap((line) => (line.includes('"message":"request"') ? (/"node":(\d+)/.exec(line)?.[1] ?? []) : [])));
  };
  const supervised: Omit<TestSupervised, keyof Client> = {
    running,
    redis,
    folder,
    home: join(folder, 'home'),
    dataFolder: (JSON.parse(readFileSync(file, 'utf8')) as { server: { data_folder_path: string } }).server.data_folder_path,
    nodes: () => childrenOf(running.child.pid as number).filter(isRunning),
    async kill(pids) {
      for (const pid of pids) process.kill(pid, 'SIGKILL');
      await until('the killed nodes have ended', () => !pids.some(isRunning));
    },
    ready: (count) =>
      until(`${count} nodes are ready`, () => {
        const pids = supervised.nodes();
        const hasSaidSo = (pid: number) => new RegExp(`"message":"node started".*"pid":${pid}\\b`).test(running.stderr());
        return pids.length === count && pids.every(hasSaidSo);
      }),
    async everywhere<Reply>(count: number, request: () => Promise<Reply>) {
      const offset = running.stderr().length;
      const replies: Reply[] = [];
      for (let attempt = 0; attempt < 200; attempt++) {
        replies.push(await request());
        if (replies.length >= 2 * count && answeredSince(offset).size >= count) return replies;
      }
      return assert.fail(`of ${count} nodes only ${[...answeredSince(offset)]} answered`);
    },
    async events() {
      const { code, stdout, stderr } = await run(t, ['events', '--json', '--limit', '100000'], { cwd: folder });
      assert.equal(code, 0, stderr);
      return stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as ServiceEvent);
    },
    count: async (id) => (await supervised.events()).filter((event) => event.id === String(id)).length,
    configure,
    async stop() {
      running.child.kill('SIGTERM');
      return (await running.ended).code;
    },
  };
  return Object.assign(new Client(url), supervised);
}
