// Sends and reads HTTP/2 frame by frame, because a library does not allow the actions of a hostile client.
import { connect } from 'node:tls';

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
export const frameTypes = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goaway: 7, continuation: 9 };

/** A frame (RFC 9113 §4.1). */
export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Encodes a text of at most 126 bytes in HPACK, without Huffman coding (RFC 7541 §5.2). */
const text = (value) => Buffer.concat([Buffer.of(value.length), Buffer.from(value)]);

/** Returns the frame that begins an upload: `:method PUT` as a literal, `:scheme https`, END_HEADERS. */
function putFrame(stream, path, authorization) {
  const literals = [
    Buffer.of(0x02),
    text('PUT'),
    Buffer.of(0x87, 0x04),
    text(path),
    Buffer.of(0x01),
    text('localhost'),
    Buffer.of(0x0f, 0x08),
    text(authorization),
  ];
  return frame(frameTypes.headers, 0x4, stream, Buffer.concat(literals));
}

/** Returns the frame that requests a path: `:method GET`, `:scheme https`, and literals with names of the static table. */
function getFrame(stream, path, authorization) {
  const literals = [
    Buffer.of(0x82, 0x87, 0x04),
    text(path),
    Buffer.of(0x01),
    text('localhost'),
    Buffer.of(0x0f, 0x08),
    text(authorization),
  ];
  // END_STREAM and END_HEADERS.
  return frame(frameTypes.headers, 0x5, stream, Buffer.concat(literals));
}

/** Returns the frame of a request without a body. Each field is a literal with a literal name (RFC 7541 §6.2.2). */
export function requestFrame(stream, fields) {
  const literals = fields.flatMap(([name, value]) => [Buffer.of(0x00), text(name), text(value)]);
  return frame(frameTypes.headers, 0x5, stream, Buffer.concat(literals));
}

/**
 * Connects and exchanges settings.
 *
 * @returns a connection that writes frames. `cutShort` resets an upload, and `giveUp` a download, both with NO_ERROR. `goaway` is the code
 * with which the other side ended the connection. `resets` has the reset streams with their codes. `replies200` is the number of replies
 * with 200
 */
export function connectRaw(url, ca, session) {
  const { port } = new URL(url);
  const socket = connect({ port: Number(port), host: '127.0.0.1', servername: 'localhost', ca, ALPNProtocols: ['h2'] });
  const connection = { socket, goaway: undefined, replies200: 0, resets: [], nextStream: 1, isOver: false };
  let rest = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('close', () => {
    connection.isOver = true;
  });
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      const payload = rest.subarray(9, 9 + length);
      if (rest[3] === frameTypes.goaway) connection.goaway ??= payload.readUInt32BE(4);
      if (rest[3] === frameTypes.rstStream) connection.resets.push({ stream: rest.readUInt32BE(5), code: payload.readUInt32BE(0) });
      // The static table's entry for `:status 200`.
      if (rest[3] === frameTypes.headers && payload[0] === 0x88) connection.replies200++;
      rest = rest.subarray(9 + length);
    }
  });
  const write = (...frames) => socket.writable && socket.write(Buffer.concat(frames));
  connection.write = write;
  connection.get = (path) => {
    const stream = connection.nextStream;
    connection.nextStream += 2;
    return [stream, getFrame(stream, path, `session ${session}`)];
  };
  connection.cutShort = (path, authorization, content) => {
    const stream = connection.nextStream;
    connection.nextStream += 2;
    write(putFrame(stream, path, authorization), frame(frameTypes.data, 0, stream, Buffer.from(content)));
    // Reset with NO_ERROR after the content has arrived.
    setTimeout(() => write(frame(frameTypes.rstStream, 0, stream, Buffer.of(0, 0, 0, 0))), 300);
  };
  connection.giveUp = (path) => {
    const [stream, asked] = connection.get(path);
    write(asked);
    setTimeout(() => write(frame(frameTypes.rstStream, 0, stream, Buffer.of(0, 0, 0, 0))), 300);
  };
  connection.acts = {
    requests: () => write(connection.get('/home/large')[1]),
    small: () => write(connection.get('/home/small')[1]),
    resets: () => {
      const [stream, asked] = connection.get('/home/large');
      // Reset with CANCEL.
      write(asked, frame(frameTypes.rstStream, 0, stream, Buffer.of(0, 0, 0, 8)));
    },
    settings: () => write(frame(frameTypes.settings, 0, 0, Buffer.of(0, 4, 0, 1, 0, 0))),
    pings: () => write(frame(frameTypes.ping, 0, 0, Buffer.from('hostile!'))),
  };
  connection.ready = new Promise((resolve) => {
    socket.once('close', resolve);
    socket.once('secureConnect', () => {
      socket.write(preface);
      write(frame(frameTypes.settings, 0, 0), frame(frameTypes.settings, 1, 0));
      resolve();
    });
  });
  return connection;
}
