import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { learnAuthorization } from './secrets.ts';

/** A reply that is larger than the buffers of sockets. Only its beginning was read. */
export interface StalledDownload {
  /** Continues to read. @returns number of bytes that arrived before the connection ended */
  finish(): Promise<number>;
}

/** Requests a file or an archive with `Connection: close`, and stops reading after the beginning of the reply. */
export async function stallDownload(port: number, target: string, headers: Record<string, string>): Promise<StalledDownload> {
  const socket = await send(port, 'GET', target, { connection: 'close', ...headers });
  let bytes = 0;
  socket.on('data', (chunk) => {
    bytes += chunk.length;
  });
  await once(socket, 'data');
  socket.pause();
  const finish = async () => {
    const ended = once(socket, 'close');
    socket.resume();
    await ended;
    return bytes;
  };
  return { finish };
}

/** A request whose body does not end. */
interface StalledUpload {
  /** Resolves when the connection has ended, with the reply if there was one. */
  ended: Promise<string>;
}

/** Sends the first bytes of a file. */
export async function stallUpload(port: number, method: string, target: string, headers: Record<string, string>): Promise<StalledUpload> {
  const socket = await send(port, method, target, { 'content-length': '1000000', ...headers }, 'the beginning');
  let reply = '';
  socket.on('data', (chunk) => {
    reply += chunk.toString('latin1');
  });
  return { ended: once(socket, 'close').then(() => reply) };
}

async function send(port: number, method: string, target: string, headers: Record<string, string>, body = ''): Promise<Socket> {
  if (headers.authorization !== undefined) learnAuthorization(headers.authorization);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(`${method} ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n${body}`);
  return socket;
}
