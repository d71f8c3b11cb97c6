// Runs the client side of large transfers in a separate process.
// It uses plain sockets and one buffer per stream, so that the client needs little CPU.
//   node transfer.mjs '{"method":"GET","host":"127.0.0.1","port":8080,"path":"/home/big","headers":{},"streams":8}'
//   "bodyBytes" adds a request body of that size, for a PUT.
//   Prints {"ms","bytes","statuses"}; "ms" is the time until the last stream's reply is complete.
import { connect } from 'node:net';

const { method, host, port, path, headers = {}, streams = 1, bodyBytes } = JSON.parse(process.argv[2]);
const bufferBytes = 1024 * 1024;

function transfer(index) {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    let head = '';
    const buffer = Buffer.allocUnsafeSlow(bufferBytes);
    const socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer,
        callback(count) {
          bytes += count;
          if (head.length < 12) head += buffer.toString('latin1', 0, Math.min(count, 64));
          return true;
        },
      },
    });
    socket.on('error', reject);
    socket.on('close', () => resolve({ bytes, status: Number(head.slice(9, 12)) }));
    const target = streams > 1 && bodyBytes !== undefined ? `${path}-${index}` : path;
    const lines = Object.entries({ host: `${host}:${port}`, connection: 'close', ...headers });
    if (bodyBytes !== undefined) lines.push(['content-length', bodyBytes]);
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
    if (bodyBytes === undefined) return;
    const chunk = Buffer.alloc(Math.min(bufferBytes, bodyBytes), 'svc bench ');
    let left = bodyBytes;
    const send = () => {
      while (left > 0) {
        const piece = left >= chunk.length ? chunk : chunk.subarray(0, left);
        left -= piece.length;
        if (!socket.write(piece)) return socket.once('drain', send);
      }
    };
    send();
  });
}

const startedMs = performance.now();
const ends = await Promise.all(Array.from({ length: streams }, (_, index) => transfer(index)));
const ms = performance.now() - startedMs;
console.log(JSON.stringify({ ms, bytes: ends.reduce((sum, end) => sum + end.bytes, 0), statuses: ends.map((end) => end.status) }));
