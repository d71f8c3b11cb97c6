// One HTTP exchange, and processes that say on standard output that they are ready.
import { spawn } from 'node:child_process';
import { request } from 'node:http';

/** @returns status and text of the reply, and when it was complete, in milliseconds of the machine's clock */
export function send(url, { method = 'GET', headers = {}, body, agent = false } = {}) {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent, headers }, (incoming) => {
      const chunks = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode, text: Buffer.concat(chunks).toString(), atMs: performance.timeOrigin + performance.now() }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const children = new Set();

/** Starts a Node.js program. `line` waits until its output so far matches a pattern. */
export function started(args, cwd) {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  let text = '';
  const lines = new Set();
  child.stdout.on('data', (chunk) => {
    text += chunk;
    for (const look of lines) look();
  });
  const line = (pattern) =>
    new Promise((resolve) => {
      const look = () => {
        const match = pattern.exec(text);
        if (!match) return;
        lines.delete(look);
        resolve(match);
      };
      lines.add(look);
      look();
    });
  const ended = new Promise((resolve) => child.on('close', resolve)).finally(() => children.delete(child));
  const end = (signal) => {
    child.kill(signal);
    return ended;
  };
  return { child, line, ended, end };
}

/** Ends all programs that still run. */
export function endAll() {
  for (const child of children) child.kill('SIGTERM');
}
