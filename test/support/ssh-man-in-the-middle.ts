import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { testPassword } from './secrets.ts';
import { installedPackage } from './ssh.ts';

export interface Tampering {
  /** Plain packets that are inserted before the side's own KEXINIT. */
  beforeKexinit?: readonly Buffer[];
  /** Plain packets that are inserted before the side's NEWKEYS. */
  beforeNewkeys?: readonly Buffer[];
  /** Number of bytes that are deleted directly after the NEWKEYS, where the encrypted packets begin. */
  deletedBytes?: number;
}

const messages = { kexinit: 20, newkeys: 21 };

/** Returns a packet as it is sent before the first NEWKEYS (RFC 4253, section 6): no cipher, no MAC, zeros as padding. */
export function clearPacket(payload: Buffer): Buffer {
  const blank = 8 - ((5 + payload.length) % 8);
  const padding = blank < 4 ? blank + 8 : blank;
  const packet = Buffer.alloc(5 + payload.length + padding);
  packet.writeUInt32BE(1 + payload.length + padding, 0);
  packet.writeUInt8(padding, 4);
  payload.copy(packet, 5);
  return packet;
}

/** Passes on the bytes of one side, with the changes. */
function passOn(from: Socket, to: Socket, tampering: Tampering): void {
  let rest = Buffer.alloc(0);
  let state: 'identification' | 'clear' | 'encrypted' = 'identification';
  let left = tampering.deletedBytes ?? 0;
  const send = (bytes: Buffer) => {
    if (!to.destroyed && bytes.length > 0) to.write(bytes);
  };
  from.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    if (state === 'identification') {
      const end = rest.indexOf('\n') + 1;
      if (end === 0) return;
      send(rest.subarray(0, end));
      rest = rest.subarray(end);
      state = 'clear';
    }
    while (state === 'clear' && rest.length >= 6) {
      const end = 4 + rest.readUInt32BE(0);
      if (rest.length < end) return;
      const added = { [messages.kexinit]: tampering.beforeKexinit, [messages.newkeys]: tampering.beforeNewkeys }[rest[5] ?? 0] ?? [];
      for (const packet of added) send(packet);
      send(rest.subarray(0, end));
      if (rest[5] === messages.newkeys) state = 'encrypted';
      rest = rest.subarray(end);
    }
    if (state !== 'encrypted') return;
    const deleted = Math.min(left, rest.length);
    left -= deleted;
    send(rest.subarray(deleted));
    rest = Buffer.alloc(0);
  });
}

/**
 * Starts a proxy between clients and an SSH server. The proxy knows none of their keys.
 *
 * @param port port of the server
 * @returns port of the proxy
 */
export async function startManInTheMiddle(
  t: TestContext,
  port: number,
  sides: { client?: Tampering; server?: Tampering },
): Promise<number> {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(port, '127.0.0.1');
    const end = () => {
      for (const socket of [client, server]) socket.end();
    };
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', end);
    }
    passOn(client, server, sides.client ?? {});
    passOn(server, client, sides.server ?? {});
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return (listener.address() as AddressInfo).port;
}

/** Modes of encryption: those that are vulnerable to CVE-2023-48795, and one whose MAC does not depend on a sequence number. */
export const modes = {
  'chacha20-poly1305': { cipher: ['chacha20-poly1305@openssh.com'], mac: [], blockBytes: 8, tagBytes: 16 },
  'aes128-ctr, encrypt-then-MAC': { cipher: ['aes128-ctr'], mac: ['hmac-sha2-256-etm@openssh.com'], blockBytes: 16, tagBytes: 32 },
  'aes128-gcm': { cipher: ['aes128-gcm@openssh.com'], mac: [], blockBytes: 16, tagBytes: 16 },
} as const;
export type Mode = (typeof modes)[keyof typeof modes];

interface ClientWithOffer {
  on(event: string, listener: (...args: never[]) => void): ClientWithOffer;
  connect(options: Record<string, unknown>): void;
  end(): void;
  _protocol: { _offer: unknown; _strictMode: boolean };
}

/** Logs in with the client of ssh2. @returns whether the login succeeded, and whether EXT_INFO arrived */
export function ssh2LogsIn(
  t: TestContext,
  port: number,
  { cipher, mac }: Mode,
  isStrict: boolean,
): Promise<{ isIn: boolean; hasSignatures: boolean }> {
  const { Client } = installedPackage<{ Client: new () => ClientWithOffer }>('ssh2');
  const { KexInit } = installedPackage<{ KexInit: new (lists: unknown) => unknown }>('ssh2/lib/protocol/kex.js');
  const client = new Client();
  t.after(() => client.end());
  let hasSignatures = false;
  return new Promise((resolve) => {
    const finish = (isIn: boolean) => resolve({ isIn, hasSignatures });
    client.on('ready', () => finish(true));
    client.on('error', () => {});
    client.on('close', () => finish(false));
    const debug = (line: string) => {
      if (line.includes('Received EXT_INFO')) hasSignatures = true;
    };
    client.connect({ host: '127.0.0.1', port, username: 'alice', password: testPassword, readyTimeout: 5000, debug });
    const side = { cipher, mac: mac.length > 0 ? mac : ['hmac-sha2-256'], compress: ['none'], lang: [] };
    const kex = ['curve25519-sha256', 'ext-info-c', ...(isStrict ? ['kex-strict-c-v00@openssh.com'] : [])];
    // The client of ssh2 enables strict mode whenever the server offers it.
    if (!isStrict) client._protocol._strictMode = false;
    client._protocol._offer = new KexInit({ kex, serverHostKey: ['ssh-ed25519'], cs: side, sc: side });
  });
}

/** Options of the service: clients that wait for deleted packets are soon cut off, and other clients can log in at the same time. */
export const limits = { login_grace_time: 3, maximum_unauthenticated_connections_per_address: 100 };
