// Runs SFTP clients: OpenSSH's sftp, lftp, and many connections of ssh2.
import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { started } from './exchange.mjs';
import { settledCpuSeconds } from './group.mjs';

/** Time limit of a client in milliseconds. */
const timeoutMs = 300_000;

export const ciphers = { 'aes128-gcm': 'aes128-gcm@openssh.com', chacha20: 'chacha20-poly1305@openssh.com' };

/** Runs a client to its end. @returns its output @throws Error with its error output */
function run(program, args, input) {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { timeout: timeoutMs, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const said = stderr.trim().split('\n').slice(-1)[0];
      const why = error?.killed ? 'too slow' : said || `exit ${error?.code} without a word`;
      if (error) reject(new Error(`${program}: ${why}`));
      else resolve(stdout);
    });
    child.stdin.on('error', () => {});
    child.stdin.end(input ?? '');
  });
}

/** Runs commands with OpenSSH's `sftp`, up to the first command that fails. */
export function sftp(server, commands, cipher = ciphers['aes128-gcm']) {
  return run('sftp', ['-q', '-F', server.config, '-o', `Ciphers=${cipher}`, '-b', '-', 'bench'], `${commands.join('\n')}\n`);
}

export function lftp(server, command) {
  const ssh = `ssh -a -x -F ${server.config} -o Ciphers=${ciphers['aes128-gcm']}`;
  const settings = ['cmd:fail-exit yes', 'xfer:clobber yes', 'net:max-retries 1', `sftp:connect-program "${ssh}"`];
  return run('lftp', ['-c', [...settings.map((setting) => `set ${setting}`), 'open sftp://bench', command].join('; ')]);
}

/**
 * Measures an action: its duration in seconds, and the server's CPU seconds per unit.
 *
 * @param gibibytes number of units, in general GiB. Without a number, the CPU time is not measured
 */
export async function timed(server, action, gibibytes) {
  const before = await settledCpuSeconds(server);
  const startedMs = performance.now();
  await action();
  const seconds = (performance.now() - startedMs) / 1000;
  const cpuS = gibibytes === undefined ? undefined : ((await settledCpuSeconds(server)) - before) / gibibytes;
  return { seconds, cpuS };
}

/**
 * Opens connections in a separate process, and holds them while `look` runs.
 *
 * @param what `handshakes`: connections are opened one after the other, and each is closed immediately; `idle`: each stays open with an
 *   SFTP session
 */
export async function connections(server, what, count, look = async () => {}) {
  const { port, key } = server;
  const order = { what, count, port, key, user: userInfo().username };
  const client = started([new URL('./processes/ssh-load.mjs', import.meta.url).pathname, JSON.stringify(order)]);
  try {
    const early = client.ended.then(() => Promise.reject(new Error(`${what}: the client ended early`)));
    await Promise.race([client.line(/^ready$/m), early]);
    return await look();
  } finally {
    await client.end('SIGKILL');
  }
}
