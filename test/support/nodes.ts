import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { createServer, type Server } from '../../src/server/server.ts';
import { Client } from './client.ts';
import { watchOutput } from './secret-watch.ts';
import { type TestConfig, testConfig } from './server.ts';

/** A node in this process. */
export interface TestNode extends Client {
  service: Server;
  log: string[];
  stop(): Promise<boolean>;
}

/** Starts a node on a Redis: a data folder of its own, the accounts' files shared with the other nodes of the folder. */
export async function startNode(
  t: TestContext,
  folder: string,
  name: string,
  redisUrl: string,
  config: TestConfig = {},
): Promise<TestNode> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  const server = { name, data_folder_path: join(folder, name), state: { type: 'redis', url: redisUrl }, ...config.server };
  const log: string[] = [];
  const service = createServer(await testConfig(folder, { ...config, server }), {
    clock: systemClock,
    log: createLog({ level: 'info', format: 'json', clock: systemClock, write: (line) => log.push(line) }),
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
