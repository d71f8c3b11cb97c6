// The hostile clients of the load test, in a separate process, so that they take no time from the measured clients:
//   node hostile-load.mjs '{"port": …, "https": "https://…", "ca": "…", "session": "…", "httpsSession": "…", "scale": 1}'
// Prints "standing" when all connections are open, and a line of JSON with counts of the attacks when standard input ends.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectRaw } from './http2-raw.mjs';

const { port, https, ca, session, httpsSession, scale } = JSON.parse(process.argv[2]);
const enhanceYourCalm = 11;
const counts = { connections: 0, http2Connections: 0, frames: { requests: 0, resets: 0, settings: 0, pings: 0 }, toldToBeCalm: 0 };
let isOver = false;

/** Opens connections that send the beginning of a request, and then `more` repeatedly. If `isSlow` is set, replies are not read. */
function hold(count, beginning, { more = '', isSlow = false } = {}) {
  return Array.from({ length: Math.ceil(count * scale) }, () => {
    const socket = connect(port, '127.0.0.1');
    if (isSlow) socket.pause();
    else socket.resume();
    socket.on('error', () => {});
    if (more !== '') {
      const timer = setInterval(() => socket.writable && socket.write(more), 500);
      socket.on('close', () => clearInterval(timer));
    }
    return new Promise((resolve) => {
      socket.on('connect', () => {
        counts.connections++;
        socket.write(beginning);
        resolve();
      });
      socket.on('close', resolve);
    });
  });
}

/** Opens one connection after the other and repeats a hostile action in bursts, until the service ends the connection. */
async function flood(name) {
  while (!isOver) {
    const connection = connectRaw(https, ca, httpsSession);
    await connection.ready;
    counts.http2Connections++;
    while (!connection.isOver && connection.goaway === undefined && !isOver) {
      for (let index = 0; index < 50; index++) connection.acts[name]();
      counts.frames[name] += 50;
      await sleep(5);
    }
    if (connection.goaway === enhanceYourCalm) counts.toldToBeCalm++;
    connection.socket.destroy();
    await sleep(20);
  }
}

const request = (line, more) => `${line} HTTP/1.1\r\nHost: x\r\nAuthorization: session ${session}\r\n${more}`;
const standing = Promise.all([
  ...hold(2000, ''),
  ...hold(200, request('GET /home/large', '\r\n'), { isSlow: true }),
  ...hold(200, request('PUT /home/slow', 'Content-Length: 1000000\r\n\r\n'), { more: 'x' }),
  ...hold(100, 'GET /home/ HTTP/1.1\r\nHost: x\r\n', { more: 'X-More: x\r\n' }),
  ...hold(100, request('PUT /home/half', 'Transfer-Encoding: chunked\r\n\r\nffff\r\nhalf')),
  ...hold(20, request('GET /home/large', '\r\n').repeat(100), { isSlow: true }),
]);
for (const name of Object.keys(counts.frames)) void flood(name);
await standing;
process.stdout.write('standing\n');
process.stdin.resume();
process.stdin.on('end', async () => {
  // On a busy machine, it takes longer until the service treats the load as a flood.
  for (let tries = 0; tries < 300 && counts.toldToBeCalm === 0; tries++) await sleep(100);
  isOver = true;
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
});
