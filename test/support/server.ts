import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { configFromObject } from '../../src/config/reading/load.ts';
import type { ServiceEvent } from '../../src/events/event.ts';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Server } from '../../src/server/server.ts';
import { Client } from './client.ts';
import { readEvents } from './journal.ts';
import { cheapHash } from './passwords.ts';
import { watchOutput } from './secret-watch.ts';
import { learnFromText, testPassword } from './secrets.ts';
import { temporaryFolder } from './temp.ts';

/** A running server for one test. */
export interface TestServer extends Client {
  service: Server;
  folder: string;
  /** Home folder of the account `alice`. */
  home: string;
  /** Returns all events so far, in order. */
  events(): Promise<ServiceEvent[]>;
  /** Returns the IDs of the events so far, without those of start and login. */
  eventIds(): Promise<number[]>;
  log: string[];
  stop(): Promise<boolean>;
}

const testPasswordHash = cheapHash(testPassword);

type Section = Record<string, unknown>;

/** Sections of a configuration. By default, `alice` (password `testPassword`) has a folder, which is served over HTTP. */
export interface TestConfig {
  server?: Section;
  group?: Section;
  groups?: Section;
  account?: Section;
  accounts?: Section;
  authentications?: Section;
  service?: Section;
  services?: Section;
  event_handlers?: Section;
  inspections?: Section;
  expectations?: Section;
}

/** Returns the configuration with which `startServer` starts. */
export async function testConfig(folder: string, config: TestConfig = {}) {
  learnFromText(JSON.stringify(config), 'the configuration');
  return configFromObject(await testSections(folder, config), folder);
}

/** Returns the sections of a test's configuration, in the form of a file. */
export async function testSections(folder: string, config: TestConfig) {
  return {
    server: {
      name: 'test',
      data_folder_path: join(folder, 'data'),
      security_policy: { ban_after_failures: 0 },
      shutdown_timeout: 5,
      ...config.server,
    },
    groups: { DEFAULT_GROUP: { home_folder_path: join(folder, 'home'), ...config.group }, ...config.groups },
    accounts: { alice: { password: await testPasswordHash, ...config.account }, ...config.accounts },
    authentications: config.authentications ?? {},
    services: config.services ?? { web: { type: 'http', port: 0, ...config.service } },
    event_handlers: config.event_handlers ?? {},
    inspections: config.inspections ?? {},
    ...(config.expectations && { expectations: config.expectations }),
  };
}

/**
 * Writes a configuration for `svc serve` to a test's folder. If there were no configuration, the start would hash a password at full cost.
 */
export async function writeConfig(folder: string, config: TestConfig = {}): Promise<void> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify(await testSections(folder, config)));
}

/** Starts a server in this process, on a free port. It is stopped at the end of the test. */
export async function startServer(t: TestContext, config: TestConfig = {}, clock: Clock = systemClock): Promise<TestServer> {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'home'));
  const log: string[] = [];
  const toList = createLog({ level: 'debug', format: 'json', clock: systemClock, write: (line) => log.push(line) });
  const service = new Server(await testConfig(folder, config), { clock, log: toList });
  await service.start();
  let running = true;
  const stop = () => {
    const wasRunning = running;
    running = false;
    return wasRunning ? service.stop() : Promise.resolve(true);
  };
  watchOutput(t, stop, [{ where: 'the log', text: () => log.join('') }]);
  const events = async () => {
    const all: ServiceEvent[] = [];
    for await (const { event } of readEvents(journalFolder(join(folder, 'data')), undefined, (bad) => assertNoBadLine(bad.reason)))
      all.push(event);
    return all;
  };
  const quiet = new Set([20001, 20076, 20156, 20181, 20137]);
  const eventIds = async () => (await events()).map((event) => Number(event.id)).filter((id) => !quiet.has(id));
  const client = new Client(service.listening()[0]?.url ?? '');
  return Object.assign(client, { service, folder, home: join(folder, 'home'), events, eventIds, log, stop });
}

function assertNoBadLine(reason: string): never {
  throw new Error(`The journal has a bad line: ${reason}`);
}
