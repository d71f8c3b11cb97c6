import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { selfSign } from './certificates.ts';
import { type Ending, temporaryFolder } from './temp.ts';

/** A false reply of an authority for a resource. */
export interface Lie {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
}

/** The behaviour of an authority. A test may change it while the authority runs. */
export interface Behaviour {
  /** False replies by path: `dir`, `account`, `order`, `order/1`, `authorization`, `finalize`, `certificate`. */
  lies: Record<string, Lie | undefined>;
  /** Creates the certificate for a request. Both are PEM. By default the authority signs the request. */
  issue: (authority: TestAuthority, csr: string) => string;
}

/** An authority that checks nothing and can send false replies. For an authority that follows the RFC, use Pebble (pebble.ts). */
export class TestAuthority {
  readonly folder: string;
  readonly caPath: string;
  readonly behaviour: Behaviour = { lies: {}, issue: (authority, csr) => authority.sign(csr, 'files.example.com') };
  /** The requested paths, with the payloads that were sent to them. */
  readonly asked: { path: string; payload: string }[] = [];
  #server: Server | undefined;
  #chain = '';

  constructor(t: Ending) {
    this.folder = temporaryFolder(t);
    this.caPath = join(this.folder, 'ca.crt');
    selfSign(this.folder, { key: 'ca.key', cert: 'ca.crt' }, '/CN=localhost', 'DNS:localhost');
  }

  async listen(t: Ending): Promise<this> {
    const [key, cert] = ['ca.key', 'ca.crt'].map((name) => readFileSync(join(this.folder, name)));
    const server = createTlsServer({ key, cert }, (incoming, outgoing) => this.#read(incoming, outgoing)) as unknown as Server;
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return this;
  }

  get base(): string {
    return `https://localhost:${((this.#server as Server).address() as AddressInfo).port}`;
  }

  get directory(): string {
    return `${this.base}/dir`;
  }

  /** Signs a request. @param csr request as PEM @param days lifetime, which begins now */
  sign(csr: string, name: string, days = 90): string {
    writeFileSync(join(this.folder, 'request.csr'), csr);
    writeFileSync(join(this.folder, 'request.ext'), `subjectAltName=DNS:${name}`);
    const args = ['x509', '-req', '-in', 'request.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', `${days}`];
    return execFileSync('openssl', [...args, '-extfile', 'request.ext'], { cwd: this.folder, stdio: 'pipe' }).toString();
  }

  #read(incoming: IncomingMessage, outgoing: ServerResponse): void {
    let text = '';
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    incoming.on('end', () => {
      const { payload = '' } = text === '' ? {} : (JSON.parse(text) as { payload?: string });
      this.#answer((incoming.url ?? '').slice(1), Buffer.from(payload, 'base64url').toString(), outgoing);
    });
  }

  #answer(path: string, payload: string, outgoing: ServerResponse): void {
    this.asked.push({ path, payload });
    const lie = this.behaviour.lies[path];
    const truth = this.#truth(path, payload);
    const body = lie?.body ?? truth.body;
    outgoing.writeHead(lie?.status ?? 200, { 'replay-nonce': 'bm9uY2U', ...truth.headers, ...lie?.headers });
    outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  #truth(path: string, payload: string): Required<Pick<Lie, 'headers' | 'body'>> {
    const { base } = this;
    const order = {
      status: 'valid',
      authorizations: [`${base}/authorization`],
      finalize: `${base}/finalize`,
      certificate: `${base}/certificate`,
    };
    switch (path) {
      case 'dir':
        return { headers: {}, body: { newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` } };
      case 'account':
        return { headers: { location: `${base}/account/1` }, body: { status: 'valid' } };
      case 'order':
        this.#chain = '';
        return { headers: { location: `${base}/order/1` }, body: { ...order, status: 'ready' } };
      case 'order/1':
        return { headers: {}, body: { ...order, status: this.#chain === '' ? 'ready' : 'valid' } };
      case 'authorization':
        return { headers: {}, body: { status: 'valid', identifier: { type: 'dns', value: 'files.example.com' } } };
      case 'finalize': {
        const der = Buffer.from((JSON.parse(payload) as { csr: string }).csr, 'base64url').toString('base64');
        this.#chain = this.behaviour.issue(
          this,
          `-----BEGIN CERTIFICATE REQUEST-----\n${der.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE REQUEST-----\n`,
        );
        return { headers: {}, body: order };
      }
      case 'certificate':
        return { headers: {}, body: this.#chain };
      default:
        return { headers: {}, body: {} };
    }
  }
}

/** Returns the names of a certificate. */
export function namesOf(pem: string): string | undefined {
  return new X509Certificate(pem).subjectAltName;
}
