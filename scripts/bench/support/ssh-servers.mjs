// The SSH servers that are measured: svc as it is, OpenSSH's sshd and `rclone serve sftp`. Each serves the same folder to one key.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { isInstalled } from '../../installed.mjs';
import { executable } from './benchmark.mjs';
import { cpuSeconds, family, freePort, versionOf } from './machine.mjs';
import { ServerGroup } from './server-group.mjs';

/** More connections at once than any workload makes. */
const manyConnections = 4000;

/** Whether a port speaks SSH. */
function speaksSsh(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('data', (text) => socket.destroy(resolve(text.toString('latin1').startsWith('SSH-'))));
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
  });
}

/** Starts servers of SSH. */
export class SshServers extends ServerGroup {
  /** Path of the private key of the only user. */
  key;

  constructor(folder, home) {
    super(folder, home);
    this.key = this.#makeKey('id_bench');
  }

  /** Starts one more of a server's kind for as long as `look` takes. */
  async withAnother({ kind }, look) {
    const server = await this[kind]();
    try {
      return await look(server);
    } finally {
      server.child.kill('SIGTERM');
    }
  }

  #makeKey(name) {
    const path = join(this.folder, name);
    const { status, error, stderr } = spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path], { encoding: 'utf8' });
    if (status !== 0) throw error ?? new Error(stderr);
    return path;
  }

  async #started(server, program, args, options) {
    const config = join(this.folder, `${server.port}.ssh_config`);
    const lines = [
      'Host bench',
      'HostName 127.0.0.1',
      `Port ${server.port}`,
      `User ${userInfo().username}`,
      `IdentityFile ${this.key}`,
      'IdentitiesOnly yes',
      'StrictHostKeyChecking no',
      'UserKnownHostsFile /dev/null',
      'LogLevel ERROR',
      '',
    ];
    writeFileSync(config, lines.join('\n'));
    return this.started({ ...server, config }, program, args, () => speaksSsh(server.port), options);
  }

  /** In its normal configuration: permissions, events, and uploads on disk before CLOSE is answered. */
  async svc() {
    const { port, folder: cwd } = await this.place('svc');
    const limits = { maximum_sessions_per_account: manyConnections, maximum_concurrent_connections: manyConnections };
    const config = {
      groups: { DEFAULT_GROUP: { home_folder_path: this.home } },
      accounts: { [userInfo().username]: { ssh_keys: [readFileSync(`${this.key}.pub`, 'utf8').trim()] } },
      services: { sftp: { type: 'ssh', address: '127.0.0.1', port, host_key_paths: [this.#makeKey(`host_key-${port}`)], ...limits } },
    };
    writeFileSync(join(cwd, 'svc.config.json'), JSON.stringify(config), { mode: 0o600 });
    const args = [executable, 'serve', '--log-level', 'error'];
    return this.#started({ kind: 'svc', name: 'svc', port, at: (path) => `/${path}` }, process.execPath, args, { cwd });
  }

  async sshd() {
    const program = '/usr/sbin/sshd';
    if (!this.isThere(isInstalled('sshd'), 'sshd (openssh-server)')) return undefined;
    const port = await freePort();
    writeFileSync(join(this.folder, 'authorized_keys'), readFileSync(`${this.key}.pub`));
    const lines = [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      `HostKey ${this.#makeKey(`host_key-${port}`)}`,
      `AuthorizedKeysFile ${join(this.folder, 'authorized_keys')}`,
      'PidFile none',
      'LogLevel ERROR',
      'UsePAM no',
      'StrictModes no',
      'PasswordAuthentication no',
      'KbdInteractiveAuthentication no',
      `MaxStartups ${manyConnections}`,
      'Subsystem sftp internal-sftp',
      '',
    ];
    const config = join(this.folder, `sshd_config-${port}`);
    writeFileSync(config, lines.join('\n'));
    // What its package has systemd make.
    if (process.getuid() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
    const version = versionOf('ssh', '-V');
    return this.#started({ kind: 'sshd', name: 'sshd', version, port, at: (path) => `${this.home}/${path}` }, program, [
      '-D',
      '-e',
      '-f',
      config,
    ]);
  }

  async rclone() {
    if (!this.isThere(isInstalled('rclone'), 'rclone')) return undefined;
    const port = await freePort();
    const args = ['serve', 'sftp', this.home, '--addr', `127.0.0.1:${port}`, '--key', this.#makeKey(`host_key-${port}`)];
    args.push('--authorized-keys', `${this.key}.pub`, '--log-level', 'ERROR');
    const version = versionOf('rclone', 'version');
    return this.#started({ kind: 'rclone', name: 'rclone serve sftp', version, port, at: (path) => `/${path}` }, 'rclone', args, {
      env: { RCLONE_CONFIG: '/dev/null' },
    });
  }
}

/** CPU time of a server so far, in seconds, once it has waited for the processes of connections that are over. */
export async function settledCpuSeconds({ pid }) {
  for (let attempt = 0; attempt < 100 && family(pid).length > 1; attempt++) await new Promise((resolve) => setTimeout(resolve, 20));
  return cpuSeconds(pid);
}
