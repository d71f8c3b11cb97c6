import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NodeProcess } from './node-process.ts';
import { freePort } from './redis.ts';
import { type Ending, temporaryFolder } from './temp.ts';

const examples = join(process.env.SVC_ROOT ?? '.', 'examples/operations/nodes');

/** The example with the addresses of a test in place of its own. */
function exampleFor(name: string, nodes: readonly NodeProcess[]): string {
  let text = readFileSync(join(examples, name), 'utf8');
  for (const [index, { port, monitorPort }] of nodes.entries())
    text = text
      .replaceAll(`server node${index + 1}:8080`, `server 127.0.0.1:${port}`)
      .replaceAll(`node${index + 1}:8080 track`, `127.0.0.1:${port} track`)
      .replaceAll(` node${index + 1}:8080`, ` 127.0.0.1:${port} port ${monitorPort}`);
  return text;
}

/** Starts the example's nginx in front of nodes, without TLS. @returns its URL */
export async function startNodesNginx(t: Ending, nodes: readonly NodeProcess[]): Promise<string> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const site = exampleFor('nginx.conf', nodes)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
    mkdirSync(join(folder, name));
    return `${name}_temp_path ${join(folder, name)};`;
  });
  const main = `daemon off;\nmaster_process off;\npid ${folder}/pid;\nerror_log ${folder}/error.log;\nevents {}\nhttp {\naccess_log off;\n${temporary.join('\n')}\n${site}\n}\n`;
  writeFileSync(join(folder, 'main.conf'), main);
  run(t, 'nginx', ['-p', folder, '-c', 'main.conf', '-e', join(folder, 'error.log')]);
  return reached(`http://127.0.0.1:${port}`);
}

/** Starts the example's HAProxy in front of nodes. @returns its URL */
export async function startNodesHaproxy(t: Ending, nodes: readonly NodeProcess[]): Promise<string> {
  const folder = temporaryFolder(t);
  const port = await freePort();
  const file = join(folder, 'haproxy.cfg');
  // So many connections as the example takes need more descriptors than a test may have.
  const text = exampleFor('haproxy.cfg', nodes).replace('maxconn 20000', 'maxconn 500');
  writeFileSync(file, text.replace('bind :8080', `bind 127.0.0.1:${port}`).replace(' port 9100', ''));
  run(t, 'haproxy', ['-f', file]);
  return reached(`http://127.0.0.1:${port}`);
}

function run(t: Ending, program: string, args: string[]): void {
  const child = spawn(program, args, { stdio: 'ignore' });
  t.after(() => void child.kill('SIGKILL'));
}

async function reached(url: string): Promise<string> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const status = await fetch(`${url}/home/`, { headers: { accept: 'application/json' } }).then(
      (reply) => reply.status,
      () => 0,
    );
    if (status === 401) return url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} does not answer`);
}
