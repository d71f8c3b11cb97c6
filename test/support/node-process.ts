import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { type Running, start } from './child.ts';
import { Client } from './client.ts';
import { cheapHash } from './passwords.ts';
import type { Received } from './receiver.ts';
import { freePort } from './redis.ts';
import { testPassword } from './secrets.ts';

/** A node in a separate process. It can be killed and started again with the same port and data. */
export interface NodeProcess {
  name: string;
  client: Client;
  config: string;
  port: number;
  monitorPort: number;
  running: Running;
  start(): Promise<void>;
  kill(): Promise<void>;
}

type Section = Record<string, unknown>;

interface More {
  server?: Section;
  web?: Section;
  services?: (name: string) => Promise<Section>;
  event_handlers?: Section | undefined;
  /** Sections that replace those of the usual configuration. If the value is undefined, the section is omitted. */
  sections?: Section;
  env?: (name: string) => Record<string, string>;
}

/** Starts a node for each URL of Redis. All nodes serve one folder, and deliver events of uploads to one webhook. */
export async function startNodes(
  t: TestContext,
  folder: string,
  hook: string,
  redisUrls: readonly string[],
  more: More = {},
): Promise<NodeProcess[]> {
  mkdirSync(join(folder, 'home'), { recursive: true });
  const password = await cheapHash(testPassword);
  const nodes: NodeProcess[] = [];
  for (const [index, url] of redisUrls.entries()) {
    const name = `n${index}`;
    const [port, monitorPort] = [await freePort(), await freePort()];
    const config = join(folder, `${name}.json`);
    const content = {
      server: {
        name,
        data_folder_path: join(folder, name),
        shutdown_timeout: 5,
        state: { type: 'redis', url },
        security_policy: { ban_after_failures: 3, ban_seconds: 600 },
        ...more.server,
      },
      groups: { DEFAULT_GROUP: { home_folder_path: join(folder, 'home') } },
      accounts: { alice: { password } },
      services: {
        web: { type: 'http', port, client_forwarded_header: 'X-Forwarded-For', triggers: ['Approve, success'], ...more.web },
        eyes: { type: 'monitor', port: monitorPort },
        ...(await more.services?.(name)),
      },
      event_handlers: more.event_handlers ?? {
        crm: { type: 'http', target: '40017', url: hook, batch_size: 10, retry_count: 3, retry_increase: 0.2 },
      },
      ...more.sections,
    };
    writeFileSync(config, JSON.stringify(content));
    const node = { name, config, port, monitorPort, client: new Client(`http://127.0.0.1:${port}`) } as NodeProcess;
    node.start = async () => {
      node.running = start(t, ['serve', '--config', config], { cwd: folder, env: more.env?.(name) ?? {} });
      await node.running.line(/listening/);
    };
    node.kill = async () => {
      node.running.child.kill('SIGKILL');
      await node.running.ended;
    };
    nodes.push(node);
  }
  await Promise.all(nodes.map((node) => node.start()));
  return nodes;
}

/** Returns the paths of the events that a receiver received. */
export function delivered(requests: readonly Received[]): string[] {
  return requests.flatMap(({ body }) =>
    (JSON.parse(body.toString('utf8')) as { events: ServiceEvent[] }).events.map(({ data }) => String(data.path)),
  );
}

/** Waits up to a minute until a condition holds. */
export async function untilWithinMinute(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!(await holds())) {
    if (performance.now() > endMs) assert.fail(`waited a minute for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
