import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { basicOf, findSecrets, learnAuthorization, learnFromText, learnSecret, testPassword, testUser } from './secrets.ts';

/** A reply that was read completely. */
export interface TestReply {
  status: number;
  headers: IncomingHttpHeaders;
  /** Header lines as sent: name, value, name, value… */
  rawHeaders: string[];
  body: Buffer;
  text: string;
  json<T = Record<string, unknown>>(): T;
}

export interface TestRequest {
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** `name:password`, or null for no credentials; by default those of alice. */
  user?: string | null;
  /** Whether status 500 is expected. If not, a reply with 500 makes the test fail. */
  mayFail?: boolean;
  ca?: string | Buffer;
  cert?: string | Buffer;
  key?: string | Buffer;
}

/** A client that sends exactly what a test specifies. It does not normalise the target. */
export class Client {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  send(method: string, target: string, options: TestRequest = {}): Promise<TestReply> {
    const { user = testUser, body } = options;
    const headers: Record<string, string | string[]> = { ...options.headers };
    if (user !== null && !('authorization' in headers)) headers.authorization = basicOf(user);
    if (body !== undefined && !('transfer-encoding' in headers) && !('content-length' in headers))
      headers['content-length'] = String(Buffer.byteLength(body));
    learnFromRequest(headers, body);
    const { hostname, port, protocol } = new URL(this.url);
    const send = protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const outgoing = send(
        { hostname, port, method, path: target, headers, agent: false, ca: options.ca, cert: options.cert, key: options.key },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
          incoming.on('error', reject);
          incoming.on('end', () => {
            const content = Buffer.concat(chunks);
            const status = incoming.statusCode ?? 0;
            const text = content.toString('utf8');
            try {
              assertReplyHasNoSecret(`${method} ${target}`, status, incoming, text);
              if (!options.mayFail) assert.notEqual(status, 500, `${method} ${target} failed: ${text}`);
            } catch (error) {
              reject(error);
              return;
            }
            resolve({
              status,
              headers: incoming.headers,
              rawHeaders: incoming.rawHeaders,
              body: content,
              text,
              json: () => JSON.parse(text),
            });
          });
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    });
  }

  get(target: string, options: TestRequest = {}): Promise<TestReply> {
    return this.send('GET', target, options);
  }

  put(target: string, body: string | Buffer, options: TestRequest = {}): Promise<TestReply> {
    return this.send('PUT', target, { ...options, body });
  }

  /** Returns the names in the JSON listing of a folder. */
  async names(target: string, options: TestRequest = {}): Promise<string[]> {
    const reply = await this.get(target, { ...options, headers: { accept: 'application/json' } });
    assert.equal(reply.status, 200, reply.text);
    return reply.json<{ content: { name: string }[] }>().content.map((entry) => entry.name);
  }

  /** Sends folder commands. */
  commands(target: string, commands: unknown, options: TestRequest = {}): Promise<TestReply> {
    return this.send('POST', target, {
      ...options,
      body: JSON.stringify({ commands }),
      headers: { 'content-type': 'application/json', ...options.headers },
    });
  }

  /** Logs in with JSON. @returns the session ID */
  async login(username = 'alice', password = testPassword, options: TestRequest = {}): Promise<string> {
    const reply = await this.send('POST', '/__svc__/login', {
      ...options,
      user: null,
      headers: { 'content-type': 'application/json', accept: 'application/json', ...options.headers },
      body: JSON.stringify({ username, password }),
    });
    assert.equal(reply.status, 200, reply.text);
    return reply.json<{ results: [{ session: string }] }>().results[0].session;
  }

  /** Sends raw bytes. Reads until the connection ends, or until no data arrives for `untilIdleMs` milliseconds. */
  raw(bytes: string | Buffer, untilIdleMs = 400): Promise<string> {
    for (const [, value = ''] of bytes.toString('latin1').matchAll(/^authorization: *([^\r\n]+)/gim)) learnAuthorization(value);
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write(bytes));
      let text = '';
      // On a busy machine, the first bytes may take longer.
      socket.setTimeout(Math.max(untilIdleMs, 3000), () => socket.destroy());
      socket.on('data', (chunk) => {
        socket.setTimeout(untilIdleMs);
        text += chunk.toString('latin1');
      });
      socket.on('close', () => {
        const found = text.startsWith('HTTP/1.1 4') ? findSecrets(Buffer.from(text.slice(0, maxVisited), 'latin1')) : [];
        if (found.length === 0) resolve(text);
        else reject(new Error(`a reply shows ${found.join(', ')}`));
      });
      socket.on('error', (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? resolve(text) : reject(error)));
    });
  }
}

/**
 * Maximum number of characters of a reply that are searched for secrets. Longer replies are files of a test. Secrets are not learned from
 * longer request bodies.
 */
const maxVisited = 64 * 1024;

function learnFromRequest(headers: Record<string, string | string[]>, body: string | Buffer | undefined): void {
  for (const [name, value] of Object.entries(headers)) {
    if (/^authorization$/i.test(name)) learnAuthorization(String(value));
    if (/^cookie$/i.test(name)) learnSecret(/SVC_HTTP_SESSION=([^;]+)/.exec(String(value))?.[1], 'a session that a client sent');
  }
  const type = String(headers['content-type'] ?? headers['Content-Type']);
  if (body === undefined || body.length > maxVisited) return;
  if (type.startsWith('application/json')) learnFromText(body.toString(), "a client's JSON");
  if (!type.startsWith('application/x-www-form-urlencoded')) return;
  for (const [name, value] of new URLSearchParams(body.toString())) if (name.includes('password')) learnSecret(value, `${name} of a form`);
}

/**
 * Asserts that a reply does not contain the credentials that a client sent, in any encoding. Only the reply to a login may contain a new
 * session.
 */
function assertReplyHasNoSecret(what: string, status: number, { headers, rawHeaders }: IncomingMessage, text: string): void {
  const session = sessionOf(status, headers, text);
  learnSecret(session, 'a session');
  const isText = /json|html|xml|^text/.test(headers['content-type'] ?? 'text');
  const head = rawHeaders.join('\n');
  const found = findSecrets(isText ? `${head}\n${text.slice(0, maxVisited)}` : head, new Set(session === undefined ? [] : [session]));
  assert.deepEqual(found, [], `the reply to ${what} shows secrets`);
}

function sessionOf(status: number, headers: IncomingHttpHeaders, text: string): string | undefined {
  const cookie = /SVC_HTTP_SESSION=([^;]+)/.exec(String(headers['set-cookie']))?.[1];
  return cookie ?? (status === 200 ? /^\{"results":\[\{"session":"([^"]+)"/.exec(text)?.[1] : undefined);
}

/** Returns the options of a request in a session. */
export function within(session: string, more: TestRequest = {}): TestRequest {
  return { ...more, headers: { accept: 'application/json', authorization: `session ${session}`, ...more.headers } };
}
