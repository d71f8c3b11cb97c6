// Sends resumable uploads from a separate process. It uses plain sockets and one buffer, so that the client needs little CPU.
//   node resumable-transfer.mjs '{"port":8080,"headers":{},"protocol":"draft","target":"/home/put","bodyBytes":1073741824,
//     "pieceBytes":8388608,"streams":1}'
//   For `draft`, `target` is the path of the file, to which the number of the stream is appended. For `tus`, `target` is the URL that
//   creates uploads. Prints {"ms"}, the time until all uploads are complete.
import { once } from 'node:events';
import { connect } from 'node:net';

const host = '127.0.0.1';
const { port, headers, protocol, target, bodyBytes, pieceBytes, streams } = JSON.parse(process.argv[2]);
const chunk = Buffer.alloc(Math.min(1024 * 1024, pieceBytes), 'svc bench ');

/** Sends a request and reads its reply. @returns status and headers */
async function exchange(socket, method, path, fields, contentBytes) {
  const lines = Object.entries({ host: `${host}:${port}`, ...headers, ...fields, 'content-length': contentBytes });
  const reply = readReply(socket);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  for (let left = contentBytes; left > 0; ) {
    const piece = chunk.subarray(0, Math.min(left, chunk.length));
    left -= piece.length;
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), reply]);
  }
  const { status, fields: told } = await reply;
  if (status < 200 || status >= 300) throw new Error(`${method} ${path} gave ${status}`);
  return told;
}

function readReply(socket) {
  return new Promise((resolve, reject) => {
    let text = '';
    const end = (settle, value) => {
      for (const [event, listener] of Object.entries(listeners)) socket.off(event, listener);
      settle(value);
    };
    const listeners = {
      data(received) {
        text += received.toString('latin1');
        const headEnd = text.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const [first, ...lines] = text.slice(0, headEnd).split('\r\n');
        const fields = Object.fromEntries(lines.map((line) => [line.split(':', 1)[0].toLowerCase(), line.slice(line.indexOf(':') + 2)]));
        const body = text.slice(headEnd + 4);
        const isWhole = 'transfer-encoding' in fields ? body.endsWith('0\r\n\r\n') : body.length >= Number(fields['content-length'] ?? 0);
        if (isWhole) end(resolve, { status: Number(first.slice(9, 12)), fields });
      },
      error: (error) => end(reject, error),
      close: () => end(reject, new Error('the connection was closed')),
    };
    for (const [event, listener] of Object.entries(listeners)) socket.on(event, listener);
  });
}

const protocols = {
  draft: {
    create: (socket, index) => exchange(socket, 'PUT', `${target}-${index}`, { 'upload-complete': '?0', 'upload-length': bodyBytes }, 0),
    fields: (isLast) => ({ 'upload-complete': isLast ? '?1' : '?0', 'content-type': 'application/partial-upload' }),
  },
  tus: {
    create(socket, index) {
      const name = Buffer.from(`put/tus-${index}`).toString('base64');
      const fields = { 'tus-resumable': '1.0.0', 'upload-length': bodyBytes, 'upload-metadata': `path ${name}` };
      return exchange(socket, 'POST', target, fields, 0);
    },
    fields: () => ({ 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' }),
  },
};

async function upload(index) {
  const { create, fields } = protocols[protocol];
  const socket = connect({ host, port, noDelay: true });
  const { location } = await create(socket, index);
  const { pathname } = new URL(location, `http://${host}:${port}`);
  for (let offset = 0; offset < bodyBytes; ) {
    const contentBytes = Math.min(pieceBytes, bodyBytes - offset);
    const isLast = offset + contentBytes === bodyBytes;
    await exchange(socket, 'PATCH', pathname, { 'upload-offset': offset, ...fields(isLast) }, contentBytes);
    offset += contentBytes;
  }
  socket.destroy();
}

const startedMs = performance.now();
await Promise.all(Array.from({ length: streams }, (_, index) => upload(index)));
console.log(JSON.stringify({ ms: performance.now() - startedMs }));
