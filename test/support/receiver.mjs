// Runs all webhook receivers of a test process in one process. receiver.ts starts it, and sends it messages that start a receiver, answer
// its held requests, or stop it. The n-th request to a receiver gets the n-th answer of its script. Further requests get `otherwise` or,
// with `repeat`, the answers of the script again.
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';

const receivers = new Map();

function answer(response, { status = 200, reason, headers = {}, body = '', delayMs = 0, isHeld = false, fault }, held) {
  const reply = () => {
    const { socket } = response;
    // The client may have disconnected meanwhile.
    if (!socket) return;
    switch (fault) {
      case undefined:
        if (reason) response.writeHead(status, reason, headers);
        else response.writeHead(status, headers);
        response.end(body);
        return;
      case 'reset':
        socket.resetAndDestroy();
        return;
      case 'close':
        socket.end();
        return;
      case 'hang':
        return;
      case 'garbage':
        socket.end('HTTP/9 what\r\n\r\n');
        return;
      case 'short':
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort');
        return;
      case 'header-only':
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
        return;
      case 'endless': {
        socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n');
        const block = Buffer.alloc(64 * 1024, 'x');
        const write = () => {
          while (!socket.destroyed && socket.write(block));
          socket.once('drain', write);
        };
        socket.on('error', () => {});
        write();
        return;
      }
      default:
        throw new Error(`unknown fault ${fault}`);
    }
  };
  if (isHeld) held.push(reply);
  else setTimeout(reply, delayMs);
}

function start(number, { script = [], repeat = false, otherwise = {}, tls, port = 0 }) {
  let count = 0;
  const held = [];
  const sockets = new Set();
  const listener = (request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url, headers } = request;
      const body = Buffer.concat(chunks).toString('base64');
      const atMs = performance.timeOrigin + performance.now();
      process.send({ receiver: number, request: { method, url, headers, body, atMs } });
      answer(response, script[repeat ? count++ % script.length : count++] ?? otherwise, held);
    });
  };
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1', () => process.send({ receiver: number, port: server.address().port }));
  receivers.set(number, { server, sockets, held });
}

/** Cuts all connections of a receiver, as if its process ended. */
function stop(number) {
  const { server, sockets } = receivers.get(number);
  receivers.delete(number);
  server.close();
  for (const socket of sockets) socket.destroy();
}

process.on('message', ({ receiver, options, action }) => {
  if (action === 'start') start(receiver, options);
  else if (action === 'stop') stop(receiver);
  else for (const reply of receivers.get(receiver).held.splice(0)) reply();
});

// Without this line, receivers would keep this process running after its parent has ended.
process.once('disconnect', () => process.exit());
