import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { Client } from './client.ts';
import { startRedis, type TestRedis } from './redis.ts';
import { hasProgram } from './requires.ts';
import { watchOutput } from './secret-watch.ts';
import { type TestConfig, testConfig, testSections } from './server.ts';
import { temporaryFolder } from './temp.ts';

/** A node that runs in this process. */
export interface TestNode extends Client {
  service: Server;
  log: string[];
  stop(): Promise<boolean>;
}

/** Starts a node that uses a Redis. The node has its own data folder, and shares the accounts' files with other nodes of `folder`. */
export async function startNode(
  t: TestContext,
  folder: string,
  name: string,
  redisUrl: string,
  config: TestConfig = {},
  clock: Clock = systemClock,
): Promise<TestNode> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  const server = { ...serverSection(folder, name, redisUrl), ...config.server };
  const path = configPath(folder, name);
  writeFileSync(path, JSON.stringify(await testSections(folder, { ...config, server })));
  const log: string[] = [];
  const service = new Server(await testConfig(folder, { ...config, server }), {
    clock,
    log: createLog({ level: 'info', format: 'json', clock, write: (line) => log.push(line) }),
    file: { path, env: {}, textOf: ({ message }) => message },
  });
  await service.start();
  let stopped: Promise<boolean> | undefined;
  const stop = () => {
    stopped ??= service.stop();
    return stopped;
  };
  watchOutput(t, stop, [{ where: `the log of ${name}`, text: () => log.join('') }]);
  return Object.assign(new Client(service.listening()[0]?.url ?? ''), { service, log, stop });
}

/** Returns the path of the file that a node of a folder reads at a reload. */
export function configPath(folder: string, name: string): string {
  return join(folder, `${name}.config.json`);
}

function serverSection(folder: string, name: string, redisUrl: string) {
  return { name, data_folder_path: join(folder, name), state: { type: 'redis', url: redisUrl } };
}

export interface Nodes {
  redis: TestRedis;
  folder: string;
  nodes: TestNode[];
  /** Returns the section `server` in the configuration of a node. */
  serverOf(name: string): ReturnType<typeof serverSection>;
}

/** Starts nodes with one Redis and one folder of files. Undefined if Redis is not installed. */
export async function startNodesOnRedis(t: TestContext, count: number, config: TestConfig): Promise<Nodes | undefined> {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const nodes: TestNode[] = [];
  for (let index = 0; index < count; index++) nodes.push(await startNode(t, folder, `n${index}`, redis.url, config));
  return { redis, folder, nodes, serverOf: (name) => serverSection(folder, name, redis.url) };
}
