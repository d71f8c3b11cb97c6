// Opens connections and keeps them open. Prints `ready` when all of them are in the state `kind`.
//   node connection-holder.mjs '{"kind":"idle","port":8080,"path":"/home/small","count":1000,"headers":{}}'
//   idle: each connection has received one complete reply; slow: each has sent a request and does not read the reply
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

const { kind, port, path, count, headers, isTls = false } = JSON.parse(process.argv[2]);
const atOnce = 100;
const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
const request = `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
const sockets = [];

function fail(reason) {
  console.error(`connection-holder: ${reason}`);
  process.exit(1);
}

function hold() {
  return new Promise((resolve) => {
    const socket = (isTls ? connectTls : connect)({ port, host: '127.0.0.1', noDelay: true, rejectUnauthorized: false }, () => {
      socket.write(request);
      if (kind !== 'slow') return;
      socket.pause();
      resolve();
    });
    sockets.push(socket);
    let reply = '';
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      const end = reply.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!/^HTTP\/1\.1 200 /.test(reply)) fail(reply.slice(0, end));
      if (reply.length < end + 4 + Number(/content-length: (\d+)/i.exec(reply)[1])) return;
      reply = '';
      resolve();
    });
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => fail('a connection was closed'));
  });
}

let left = count;
await Promise.all(
  Array.from({ length: Math.min(atOnce, count) }, async () => {
    while (left-- > 0) await hold();
  }),
);
console.log('ready');
