import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServiceEvent } from '../../src/events/event.ts';
import { run } from './child.ts';
import type { Client, TestReply } from './client.ts';
import { type NodeProcess, startNodes } from './node-process.ts';
import { cheapHash } from './passwords.ts';
import { freePort, startRedis, type TestRedis } from './redis.ts';
import { testPassword } from './secrets.ts';
import { makeKey } from './ssh.ts';
import { temporaryFolder } from './temp.ts';

export const largeBytes = 64 * 1024 * 1024;

export const rounds = 20;

export interface Pair {
  redis: TestRedis;
  folder: string;
  home: string;
  nodes: [NodeProcess, NodeProcess];
  here: Client;
  there: Client;
  /** Returns the SFTP port of a node. */
  ssh(node: 'n0' | 'n1'): number;
  events(id: number): Promise<ServiceEvent[]>;
}

/**
 * Starts two processes on one Redis, with HTTP that supports locks, and SFTP.
 *
 * @param ban number of failures until an address is banned; 0 for never
 */
export async function startPair(
  t: TestContext,
  ban: number,
  group: Record<string, unknown> = {},
  sections: Record<string, unknown> = {},
): Promise<Pair> {
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const home = join(folder, 'home');
  const ports: Record<string, number> = {};
  const hostKey = makeKey(temporaryFolder(t), 'host_key');
  const password = await cheapHash(testPassword);
  const security_policy = { ban_after_failures: ban, ban_seconds: 600 };
  const nodes = await startNodes(t, folder, '', [redis.url, redis.url], {
    event_handlers: {},
    server: { security_policy },
    web: { webdav_compatibility: true },
    services: async (name) => {
      ports[name] = await freePort();
      return { sftp: { type: 'ssh', port: ports[name], host_key_paths: [hostKey], maximum_sessions_per_account: 2 } };
    },
    sections: {
      groups: { DEFAULT_GROUP: { home_folder_path: home, ...group } },
      accounts: { alice: { password }, bob: { password } },
      ...sections,
    },
  });
  const [first, second] = nodes as [NodeProcess, NodeProcess];
  const events = async (id: number) => {
    const { code, stdout, stderr } = await run(t, ['events', '--json', '--limit', '100000', '--id', String(id), '--config', first.config], {
      cwd: folder,
    });
    assert.equal(code, 0, stderr);
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as ServiceEvent);
  };
  return {
    redis,
    folder,
    home,
    nodes: [first, second],
    here: first.client,
    there: second.client,
    ssh: (node) => ports[node] as number,
    events,
  };
}

export function atBoth<Reply>(
  { here, there }: Pair,
  count: number,
  request: (node: Client, index: number) => Promise<Reply>,
): Promise<Reply[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => request(index % 2 === 0 ? here : there, index)));
}

export const statuses = (replies: readonly TestReply[]) => replies.map(({ status }) => status).sort();

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
const lockHeaders = { 'content-type': 'application/xml', 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/22.1.0 (arm64)', depth: '0' };
export const lock = (node: Client, target: string) => node.send('LOCK', target, { body: lockBody, headers: lockHeaders });
