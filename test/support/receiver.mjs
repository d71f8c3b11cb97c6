// A webhook receiver for tests, run as a process of its own: `node receiver.mjs '{"script": […], "otherwise": {…}, "tls": {…}}'`.
// The n-th request gets the n-th answer of the script, later ones `otherwise`, or with `repeat` the script again. Prints its port, then a line of JSON a request.
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';

const { script = [], repeat = false, otherwise = {}, tls, port = 0 } = JSON.parse(process.argv[2] ?? '{}');
let count = 0;
const held = [];
process.on('SIGUSR2', () => {
  for (const reply of held.splice(0)) reply();
});

function answer(response, { status = 200, reason, headers = {}, body = '', delayMs = 0, isHeld = false, fault }) {
  const reply = () => {
    const { socket } = response;
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

function listener(request, response) {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { method, url, headers } = request;
    const body = Buffer.concat(chunks).toString('base64');
    process.stdout.write(`${JSON.stringify({ method, url, headers, body, atMs: performance.timeOrigin + performance.now() })}\n`);
    answer(response, script[repeat ? count++ % script.length : count++] ?? otherwise);
  });
}

const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
server.keepAliveTimeout = 60_000;
server.listen(port, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
