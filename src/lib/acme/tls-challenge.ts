import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createSecureContext, createServer, type SecureContext, type Server } from 'node:tls';
import { catching } from '../catching.ts';
import type { Clock } from '../clock.ts';
import { selfSignedCertificate } from './certificates.ts';

const protocol = 'acme-tls/1';

/** The extension with which a client offers only this protocol (RFC 7301 §3.1, RFC 8737 §4). */
const onlyProtocol = Buffer.concat([Buffer.from('0010000d000b0a', 'hex'), Buffer.from(protocol)]);

const handshakeRecord = 22;
const recordHeaderBytes = 5;

/** Maximum size of a first record in bytes. Longer data is not a record (RFC 8446 §5.1). */
const maxRecordBytes = 2 ** 14 + recordHeaderBytes;

/** Maximum time for a client to send its first record. */
const firstRecordMs = 10_000;

/**
 * Returns whether the bytes contain the client's complete first record, whose extensions show the offered protocols. Also true if they can
 * no longer become a record.
 */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length === 0) return false;
  if (bytes[0] !== handshakeRecord || bytes.length >= maxRecordBytes) return true;
  return bytes.length >= recordHeaderBytes && bytes.length >= recordHeaderBytes + bytes.readUInt16BE(3);
}

/** Answers TLS challenges (RFC 8737) on the connections of an https service. Passes on all other connections unchanged. */
export class TlsChallenges {
  readonly #find: (domain: string) => Promise<string | undefined>;
  readonly #clock: Clock;
  readonly #server: Server;

  /** @param find returns the key authorization of a domain while an authority may ask for it */
  constructor(find: (domain: string) => Promise<string | undefined>, clock: Clock) {
    this.#find = find;
    this.#clock = clock;
    const SNICallback = (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
      this.#contextOf(name.toLowerCase()).then((context) => done(null, context), done);
    };
    this.#server = createServer({ ALPNProtocols: [protocol], SNICallback, handshakeTimeout: firstRecordMs });
    this.#server.on('tlsClientError', (_, socket) => socket.destroy());
    // The handshake is all that the authority needs, so the connection ends after it.
    this.#server.on('secureConnection', (socket) => socket.on('error', () => {}).end());
  }

  /**
   * Inspects the first record of a connection.
   *
   * @param giveOn takes a connection that is not a challenge, with all bytes received
   */
  sort(socket: Socket, giveOn: () => void): void {
    const chunks: Buffer[] = [];
    const cut = () => void socket.destroy();
    const end = catching(() => {
      timer.cancel();
      socket.off('readable', look).off('error', onError).off('close', end);
    }, cut);
    const onError = catching(cut, () => {});
    const look = catching(() => {
      for (let chunk = socket.read(); chunk !== null; chunk = socket.read()) chunks.push(chunk as Buffer);
      const bytes = Buffer.concat(chunks);
      if (!isWhole(bytes)) return;
      end();
      socket.unshift(bytes);
      if (bytes.includes(onlyProtocol)) this.#server.emit('connection', socket);
      else giveOn();
    }, cut);
    const timer = this.#clock.after(firstRecordMs, cut);
    socket.on('readable', look).on('error', onError).on('close', end);
  }

  async #contextOf(domain: string): Promise<SecureContext> {
    const found = domain.length <= 253 ? await this.#find(domain) : undefined;
    if (found === undefined) throw new Error('no challenge of this name is under way');
    const challengeDigest = hash('sha256', found, 'buffer');
    const pem = selfSignedCertificate([domain], { nowMs: this.#clock.nowMs(), lastsDays: 7, challengeDigest });
    return createSecureContext({ cert: pem, key: pem });
  }
}
