import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { selfSign } from './certificates.ts';
import { freePort } from './redis.ts';
import { temporaryFolder } from './temp.ts';

/** The host name under which clients reach the nginx of `startNginx`. */
export const publicHost = 'files.example.com';

/**
 * Starts nginx with the example's configuration. Only ports, paths and the certificate are replaced.
 *
 * @param isPlain whether the proxy serves without TLS, so that a test can send raw bytes
 */
export async function startNginx(t: TestContext, upstream: string, isPlain = false): Promise<{ url: string; ca: string }> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  selfSign(folder, { key, cert: certificate }, `/CN=${publicHost}`, `DNS:${publicHost},IP:127.0.0.1`);
  const example = readFileSync(join(process.env.SVC_ROOT ?? '.', 'examples/operations/nginx.conf'), 'utf8');
  const site = example
    .replace('server 127.0.0.1:8080;', `server ${new URL(upstream).host};`)
    .replace('listen 443 ssl http2;', `listen 127.0.0.1:${port}${isPlain ? '' : ' ssl http2'};`)
    .replace('/etc/ssl/files.example.com.crt', certificate)
    .replace('/etc/ssl/files.example.com.key', key);
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name.replace('client_', '')};`,
  );
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log stderr warn;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${site}\n}\n`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  t.after(() => child.kill('SIGKILL'));
  while (!existsSync(join(folder, 'pid'))) {
    if (child.exitCode !== null) throw new Error(`nginx ended: ${errors}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url: `${isPlain ? 'http' : 'https'}://127.0.0.1:${port}`, ca: readFileSync(certificate, 'utf8') };
}
