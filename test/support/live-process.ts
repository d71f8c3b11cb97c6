import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { selfSigned } from './certificates.ts';
import { childrenOf, isRunning, type Running, start } from './child.ts';
import { Client } from './client.ts';
import { writeConfig } from './server.ts';
import { temporaryFolder } from './temp.ts';

/** A server in a separate process, with a file `/home/a`. */
export interface Live {
  running: Running;
  urls: { plain: string; tls: string; monitor: string };
  cert: string;
  /** Returns the IDs of the processes that answer. They must stay the same. */
  pids(): number[];
}

/** @param args arguments of `svc serve` */
export async function startLive(t: TestContext, args: string[] = []): Promise<Live> {
  const folder = temporaryFolder(t);
  const { cert, certPath, keyPath } = selfSigned(t);
  const services = {
    plain: { type: 'http', port: 0 },
    tls: { type: 'https', port: 0, tls_certificate_path: certPath, tls_key_path: keyPath },
    monitor: { type: 'monitor', port: 0 },
  };
  await writeConfig(folder, { services });
  for (const file of ['home/a', witness]) writeFileSync(join(folder, file), 'hello, world');
  const running = start(t, ['serve', '--log-format', 'json', ...args], { cwd: folder });
  const [, plain = '', tls = '', monitor = ''] = await running.line(
    /plain listening on (\S+)\/\n(?:.*\n)*?tls listening on (\S+)\/\n(?:.*\n)*?monitor listening on (\S+)\/\n/,
  );
  const pid = running.child.pid as number;
  return { running, urls: { plain, tls, monitor }, cert, pids: () => [pid, ...childrenOf(pid)].filter(isRunning) };
}

/** A file that no fuzzed request names. (Some fuzzed requests are valid and write files.) */
const witness = 'home/witness';

/** Asserts that the processes `before` still run and answer, and that no internal error occurred in them. */
export async function assertWhole({ running, urls, pids }: Live, before: readonly number[]): Promise<void> {
  assert.deepEqual(pids(), before);
  assert.equal((await new Client(urls.plain).get(`/${witness}`)).text, 'hello, world');
  const { text } = await new Client(urls.monitor).get('/metrics', { user: null });
  assert.match(text, /^svc_internal_errors_total 0$/m, running.stderr());
}
