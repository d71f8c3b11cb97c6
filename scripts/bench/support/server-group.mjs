// How servers that are measured are started and ended.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { remove } from './benchmark.mjs';
import { freePort } from './machine.mjs';

/** Starts servers in a folder of their own, and ends them all. */
export class ServerGroup {
  #children = [];
  /** Programs, or parts of them, that are not installed. */
  missing = [];

  /** @param folder for configurations, journals and logs; @param home what is served */
  constructor(folder, home) {
    this.folder = folder;
    this.home = home;
  }

  /** @returns once all servers have ended */
  async stop() {
    for (const { child } of this.#children) child.kill('SIGTERM');
    await Promise.all(this.#children.map(({ ended }) => ended));
  }

  /** A free port, and a new folder for the server that listens there. */
  async place(name) {
    const port = await freePort();
    const folder = join(this.folder, `${name}-${port}`);
    mkdirSync(folder);
    return { port, folder };
  }

  /** Notes what is not there. */
  isThere(isThere, name) {
    if (!isThere) this.missing.push(name);
    return isThere;
  }

  /** Starts a server, and waits until it answers. @param server has `name` @param isUp asks it */
  async started(server, program, args, isUp, { env = {}, cwd = this.folder } = {}) {
    const startedMs = performance.now();
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, ...env } });
    this.#children.push({ child, ended: new Promise((resolve) => child.once('close', resolve)) });
    for (let attempt = 0; attempt < 20_000; attempt++) {
      if (child.exitCode !== null) throw new Error(`${server.name} ended with ${child.exitCode}`);
      if (await isUp()) return { ...server, pid: child.pid, child, startedMs, startMs: performance.now() - startedMs };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`${server.name} does not answer`);
  }
}

/** Ends all servers, and removes folders. */
export async function stopAndRemove(servers, ...folders) {
  await servers.stop();
  remove(...folders);
}
