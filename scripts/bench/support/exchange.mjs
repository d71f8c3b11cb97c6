// Sends single HTTP requests, and starts processes that print a line on standard output when they are ready.
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { request as requestTls } from 'node:https';

/**
 * Sends a request. Accepts any certificate of the server.
 *
 * @returns status and text of the reply, and the time at which it was complete (Unix time in milliseconds)
 */
export function send(url, { method = 'GET', headers = {}, body, agent = false } = {}) {
  return new Promise((resolve, reject) => {
    const options = { method, agent, headers, rejectUnauthorized: false };
    const outgoing = (url.startsWith('https:') ? requestTls : request)(url, options, (incoming) => {
      const chunks = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode, atMs: performance.timeOrigin + performance.now(), text: Buffer.concat(chunks).toString() }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Logs in to a file service. @returns the header that requests of the session need */
export async function sessionOf(url, username, password, agent) {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  const { text } = await send(`${url}/__svc__/login`, { method: 'POST', headers, agent, body: JSON.stringify({ username, password }) });
  return { authorization: `session ${JSON.parse(text).results[0].session}` };
}

const running = new Set();

/** Starts a program; the default is Node.js. The returned `line` waits until the output matches a pattern. */
export function started(args, cwd, program = process.execPath) {
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
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
  const ended = new Promise((resolve) => child.on('close', resolve)).finally(() => running.delete(one));
  const end = (signal) => {
    child.kill(signal);
    return ended;
  };
  const one = { child, line, ended, end };
  running.add(one);
  return one;
}

/** Ends all programs that are still running, and waits until they have ended. */
export async function endAll() {
  await Promise.all([...running].map(({ end }) => end('SIGTERM')));
}
