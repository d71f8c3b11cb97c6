import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { selfSign } from './certificates.ts';
import { publicHost, startNginx } from './nginx.ts';
import { freePort } from './redis.ts';
import { temporaryFolder } from './temp.ts';

interface TlsProxy {
  program: string;
  /** @param isPlain whether the proxy serves without TLS, so that a test can send raw bytes; only nginx and HAProxy support this */
  start(t: TestContext, upstream: string, isPlain?: boolean): Promise<{ url: string; ca: string }>;
}

interface ProxyProgram {
  program: string;
  example: string;
  args(file: string, folder: string): string[];
  /** Returns the example with the test's ports, paths and certificate. */
  fill(example: string, at: { folder: string; port: number; upstream: string; isPlain: boolean }): string;
}

const programs: Record<string, ProxyProgram> = {
  Caddy: {
    program: 'caddy',
    example: 'Caddyfile',
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
    fill: (example, { folder, port, upstream }) =>
      `{\n\tadmin off\n\tauto_https off\n}\n${example
        .replace('files.example.com {', `:${port} {\n\ttls ${folder}/crt ${folder}/key`)
        .replaceAll('127.0.0.1:8080', upstream)}`,
  },
  HAProxy: {
    program: 'haproxy',
    example: 'haproxy.cfg',
    args: (file) => ['-db', '-f', file],
    fill: (example, { folder, port, upstream, isPlain }) =>
      example
        .replace(isPlain ? / ssl crt .*/ : 'no such text', '')
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace('/etc/ssl/files.example.com.pem', `${folder}/pem`)
        .replaceAll('127.0.0.1:8080', upstream),
  },
  Apache: {
    program: 'apache2',
    example: 'apache.conf',
    args: (file, folder) => ['-D', 'FOREGROUND', '-d', folder, '-f', file],
    fill: (example, { folder, port, upstream }) => {
      const modules = ['mpm_event', 'authz_core', 'socache_shmcb', 'ssl', 'http2', 'headers', 'proxy', 'proxy_http'];
      const loaded = modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`);
      return `${loaded.join('\n')}\nServerName ${publicHost}\nListen 127.0.0.1:${port}\nPidFile ${folder}/pid\nErrorLog ${folder}/log\nDefaultRuntimeDir ${folder}\n${
        process.getuid?.() === 0 ? 'User www-data\nGroup www-data\n' : ''
      }${example
        .replace('*:443', `127.0.0.1:${port}`)
        .replace('/etc/ssl/files.example.com.crt', `${folder}/crt`)
        .replace('/etc/ssl/files.example.com.key', `${folder}/key`)
        .replaceAll('127.0.0.1:8080', upstream)}`;
    },
  },
};

/** The proxies of the examples, each with its example's configuration. */
export const tlsProxies: Record<string, TlsProxy> = {
  nginx: { program: 'nginx', start: startNginx },
  ...Object.fromEntries(
    Object.entries(programs).map(([name, described]) => [
      name,
      {
        program: described.program,
        start: (t: TestContext, upstream: string, isPlain = false) => startProgram(t, described, upstream, isPlain),
      },
    ]),
  ),
};

async function startProgram(t: TestContext, { program, example, args, fill }: ProxyProgram, upstream: string, isPlain: boolean) {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const [key, cert] = [join(folder, 'key'), join(folder, 'crt')];
  selfSign(folder, { key, cert }, `/CN=${publicHost}`, `DNS:${publicHost},IP:127.0.0.1`);
  const ca = readFileSync(cert, 'utf8');
  writeFileSync(join(folder, 'pem'), ca + readFileSync(key, 'utf8'));
  mkdirSync(join(folder, 'home'));
  const text = readFileSync(join(process.env.SVC_ROOT ?? '.', 'examples/operations/proxies', example), 'utf8');
  const file = join(folder, example);
  writeFileSync(file, fill(text, { folder, port, upstream: new URL(upstream).host, isPlain }));
  const env = { ...process.env, HOME: join(folder, 'home'), XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const child = spawn(program, args(file, folder), { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  t.after(() => child.kill('SIGTERM'));
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url: `${isPlain ? 'http' : 'https'}://127.0.0.1:${port}`, ca };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
