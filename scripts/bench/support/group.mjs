// Starts each server once, in its own folder. Ends all servers at the end.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '../../installed.mjs';
import { send } from './exchange.mjs';
import { cpuSeconds, family, freePort, versionOf } from './machine.mjs';
import { basic, peers, userKey } from './peers.mjs';

function speaksSsh(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (text) => socket.destroy(resolve(text.toString('latin1').startsWith('SSH-'))));
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });
}

/** Writes the configuration of OpenSSH's clients for a server. @returns path of the file */
function sshConfig(place) {
  const path = join(place.folder, 'ssh_config');
  const lines = [`HostName 127.0.0.1`, `Port ${place.port}`, `User ${userInfo().username}`, `IdentityFile ${userKey(place)}`];
  const quiet = ['IdentitiesOnly yes', 'StrictHostKeyChecking no', 'UserKnownHostsFile /dev/null', 'LogLevel ERROR'];
  writeFileSync(path, `Host bench\n${[...lines, ...quiet].join('\n')}\n`);
  return path;
}

export class Group {
  #children = [];
  #running = new Map();
  missing = new Set();

  /** @param folder folder for configurations, journals and logs @param home the folder that is served */
  constructor(folder, home) {
    this.folder = folder;
    this.home = home;
  }

  /**
   * Starts servers, if they do not run yet: those in `some`, and all peers with the scheme. With `ability`, servers that lack it are left out.
   *
   * @returns the servers that are installed
   */
  async all(some, scheme, ability) {
    const found = [];
    for (const peer of [...some, ...peers.filter((one) => one.scheme === scheme)]) {
      if (ability !== undefined && !peer.can.includes(ability)) continue;
      if (!this.#running.has(peer)) this.#running.set(peer, this.start(peer));
      found.push(await this.#running.get(peer));
    }
    return found.filter((server) => server !== undefined);
  }

  /** Starts a server and waits until it answers. @returns undefined if it is not installed */
  async start(peer) {
    if (!(isInstalled(peer.program) || existsSync(peer.program)) || (peer.needs && !existsSync(peer.needs))) {
      this.missing.add(peer.name);
      return undefined;
    }
    const port = await freePort();
    const folder = join(this.folder, `${peer.name.replaceAll(/\W+/g, '-')}-${port}`);
    mkdirSync(folder);
    const place = { port, folder, home: this.home, shared: this.folder };
    for (const [name, text] of Object.entries(peer.files?.(place) ?? {})) writeFileSync(join(folder, name), text, { mode: 0o600 });
    const at = (path) => peer.at(path, place);
    const version = peer.version && versionOf(peer.versionOf ?? peer.program, ...peer.version);
    const config = peer.scheme === 'ssh' ? { config: sshConfig(place), key: userKey(place) } : {};
    const server = { name: peer.name, peer, port, folder, at, version, publicPath: peer.publicPath ?? '/small', headers: {}, ...config };
    if (peer.scheme === 'http') server.headers = { authorization: basic };
    // Usually systemd creates this folder, because the unit of sshd requests it.
    if (peer.name === 'sshd' && process.getuid() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
    const startedMs = performance.now();
    const env = { ...process.env, ...peer.env?.(place) };
    const child = spawn(peer.program, peer.args(place), { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'], env });
    this.#children.push({ child, ended: new Promise((resolve) => child.once('close', resolve)) });
    for (let attempt = 0; attempt < 20_000; attempt++) {
      if (child.exitCode !== null) throw new Error(`${peer.name} ended with ${child.exitCode}`);
      if (await isUp(server)) {
        const running = { ...server, pid: child.pid, child, startedMs, startMs: performance.now() - startedMs };
        return { ...running, ...(await peer.ready?.(running)) };
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`${peer.name} does not answer`);
  }

  /** Starts another instance of a server, runs `look`, and stops the instance. @returns the result of `look` */
  async withFresh(peer, look) {
    const server = await this.start(peer);
    try {
      return await look(server);
    } finally {
      server.child.kill('SIGTERM');
    }
  }

  /** Returns the names and versions of all started servers. */
  async versions() {
    const servers = await Promise.all(this.#running.values());
    return [...new Set(servers.flatMap((server) => (server?.version ? [`${server.name} ${server.version}`] : [])))];
  }

  async stop() {
    for (const { child } of this.#children) child.kill('SIGTERM');
    await Promise.all(this.#children.map(({ ended }) => ended));
  }
}

async function isUp({ peer, port, at, publicPath, headers }) {
  if (peer.scheme === 'ssh') return speaksSsh(port);
  const isTls = peer.scheme === 'https';
  const wanted = isTls ? 200 : (peer.firstStatus ?? 200);
  const options = { headers: wanted === 401 ? {} : headers };
  return (
    (await send(`${peer.scheme}://127.0.0.1:${port}${isTls ? publicPath : at('small')}`, options).catch(() => undefined))?.status === wanted
  );
}

/** Returns the CPU time of a server so far, in seconds. It waits until the processes of closed connections have ended. */
export async function settledCpuSeconds({ pid }) {
  for (let attempt = 0; attempt < 100 && family(pid).length > 1; attempt++) await new Promise((resolve) => setTimeout(resolve, 20));
  return cpuSeconds(pid);
}
