import type { Socket } from 'node:net';
import { isIPv6 } from 'node:net';
import { normaliseAddress } from '../../lib/headers/forwarded-header.ts';

/** First bytes of a header of version 2 (haproxy, doc/proxy-protocol.txt §2.2). */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const fixedBytes = 16;

/** What follows is read up to this: addresses, and what proxies add to them. */
const maxBytes = 4096;

/** Where the client is that a proxy speaks for. */
export interface ProxiedClient {
  address: string;
  port: number;
}

/**
 * Reads the PROXY protocol header, version 2, with which a connection of a proxy begins; what follows stays in the socket.
 *
 * @returns undefined where the proxy speaks for itself (its health checks), or for a client without an IP address
 * @throws Error when the connection begins otherwise, or ends
 */
export async function readProxyHeader(socket: Socket): Promise<ProxiedClient | undefined> {
  const fixed = await readBytes(socket, fixedBytes);
  if (!fixed.subarray(0, signature.length).equals(signature)) throw new Error('it does not begin with a PROXY header of version 2');
  const [versionAndCommand = 0, familyAndProtocol = 0] = fixed.subarray(12);
  const length = fixed.readUInt16BE(14);
  if (versionAndCommand >> 4 !== 2 || (versionAndCommand & 15) > 1 || length > maxBytes) throw new Error('its PROXY header is malformed');
  const rest = length === 0 ? Buffer.alloc(0) : await readBytes(socket, length);
  if ((versionAndCommand & 15) === 0) return undefined;
  if (familyAndProtocol === 0x11 && length >= 12) return { address: [...rest.subarray(0, 4)].join('.'), port: rest.readUInt16BE(8) };
  if (familyAndProtocol === 0x21 && length >= 36) return { address: ipv6Text(rest.subarray(0, 16)), port: rest.readUInt16BE(32) };
  return undefined;
}

function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
  // The URL parser writes an address as RFC 5952 wants it.
  const text = new URL(`http://[${groups}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text);
  if (mapped) return [...bytes.subarray(12)].join('.');
  return isIPv6(text) ? normaliseAddress(text) : text;
}

function readBytes(socket: Socket, count: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const finish = (action: () => void) => {
      socket.off('readable', onReadable).off('end', onEnd).off('close', onEnd);
      action();
    };
    const onEnd = () => finish(() => reject(new Error('it ended within the PROXY header')));
    const onReadable = () => {
      const bytes: Buffer | null = socket.read(count);
      if (bytes?.length === count) finish(() => resolve(bytes));
      else if (bytes !== null) onEnd();
    };
    socket.on('readable', onReadable).on('end', onEnd).on('close', onEnd);
    onReadable();
  });
}
