import { connect, type DetailedPeerCertificate, type SecureVersion, type TLSSocket } from 'node:tls';

interface Visit {
  /** A ticket of an earlier visit. */
  session?: Buffer | undefined;
  cert?: Buffer;
  key?: Buffer;
  maxVersion?: SecureVersion;
  /** OpenSSL's names of the ciphers, in the client's order of preference. */
  ciphers?: string;
  /** OpenSSL's names of the signature algorithms that the client supports. */
  sigalgs?: string;
}

interface Visited {
  status: number;
  isReused: boolean;
  session: Buffer | undefined;
  /** OpenSSL's name of the cipher. */
  cipher: string;
  /** The certificates that the server sent: its own, and those that follow. */
  chain: Buffer[];
}

/** Requests the home folder on a separate connection, with only the credentials of TLS. */
export function visit(url: string, { session, ...options }: Visit = {}): Promise<Visited> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false, ...(session ? { session } : {}), ...options });
    let [isReused, text, cipher] = [false, '', ''];
    let chain: Buffer[] = [];
    let given: Buffer | undefined;
    socket.on('session', (ticket: Buffer) => {
      given = ticket;
    });
    socket.on('secureConnect', () => {
      isReused = socket.isSessionReused();
      cipher = socket.getCipher().name;
      chain = chainOf(socket);
      socket.write('GET /home/ HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nConnection: close\r\n\r\n');
    });
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve({ status: Number(text.slice(9, 12)), isReused, session: given, cipher, chain }));
  });
}

function chainOf(socket: TLSSocket): Buffer[] {
  const chain: Buffer[] = [];
  let one: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (one?.raw && !chain.some((before) => before.equals(one?.raw as Buffer))) {
    chain.push(one.raw);
    one = one.issuerCertificate;
  }
  return chain;
}
