import { createHmac } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { readNamedFile } from '../../lib/disk/named-file.ts';
import type { SftpConnection, SftpLogin } from '../../webhooks/forward/means.ts';
import { resolveAlgorithms } from '../algorithms.ts';
import { readHostKey } from '../host-keys.ts';
import { readStrings } from '../public-keys.ts';
import { PacketSplitter } from '../sftp/packets/packet-splitter.ts';
import { openFlags, packetTypes, statusCodes } from '../sftp/packets/packets.ts';
import { FieldReader } from '../sftp/packets/read-request.ts';
import { FieldWriter } from '../sftp/packets/replies.ts';

/** Maximum time for the connection, the key exchange and the login together. */
const loginWithinMs = 30_000;
const keepaliveMs = 15_000;

const fileType = 0o170000;
const folderType = 0o040000;

/** Thrown for a request that the server refused (draft-ietf-secsh-filexfer-02 §7). */
class SftpRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Logs in to an SFTP server. Its host key must be in the file of known hosts.
 *
 * @throws Error with the reason why the connection or login failed
 */
export async function connectSftp({ host, port, username, password, keyPath, knownHostsPath, signal }: SftpLogin): Promise<SftpConnection> {
  const known = knownKeys(readNamedFile(knownHostsPath, 'known_hosts_path').toString('utf8'), host, port);
  if (known.types.length === 0) throw new Error(`${knownHostsPath} has no key of ${host}, port ${port}`);
  const { kex, hostKey, cipher, mac } = resolveAlgorithms(['all']);
  const { default: Client } = await import('ssh2/lib/client.js');
  signal.throwIfAborted();
  const client = new Client();
  let isKnown = true;
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      client.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', giveUp, { once: true });
    const fail = (error: Error) => {
      signal.removeEventListener('abort', giveUp);
      client.destroy();
      reject(isKnown ? error : new Error(`the host key of ${host} is not the one in ${knownHostsPath}`));
    };
    client.on('error', fail);
    client.on('close', () => fail(new Error('the connection was closed')));
    client.on('ready', () => {
      client.subsys('sftp', (error, channel) => {
        if (error) return fail(error);
        const connection = new Connection(channel, () => client.destroy());
        client.removeAllListeners('error');
        client.on('error', (reason) => connection.lost(reason));
        client.on('close', () => connection.lost(new Error('the connection was closed')));
        connection.begin().then(() => {
          signal.removeEventListener('abort', giveUp);
          resolve(connection);
        }, fail);
      });
    });
    client.connect({
      host,
      port,
      username,
      ...(keyPath === '' ? { password } : { privateKey: readHostKey(keyPath).text }),
      tryKeyboard: false,
      hostVerifier: (key) => {
        isKnown = known.has(key);
        return isKnown;
      },
      algorithms: {
        kex: kex.filter((name) => !name.startsWith('mlkem')),
        serverHostKey: hostKey.filter((name) => known.types.includes(name.startsWith('rsa-') ? 'ssh-rsa' : name)),
        cipher,
        hmac: mac,
        compress: ['none'],
      },
      readyTimeout: loginWithinMs,
      keepaliveInterval: keepaliveMs,
      ident: `svc_${SVC_VERSION}`,
    });
  });
}

interface Answer {
  resolve(packet: { type: number; fields: FieldReader }): void;
  reject(reason: Error): void;
}

/** The client's side of SFTP version 3, limited to the operations that are needed to send files. */
class Connection implements SftpConnection {
  readonly #channel: Duplex;
  readonly #close: () => void;
  readonly #packets = new PacketSplitter();
  readonly #waiting = new Map<number, Answer>();
  readonly #extensions = new Set<string>();
  #versioned: Answer | undefined;
  #next = 0;
  #fault: Error | undefined;

  constructor(channel: Duplex, close: () => void) {
    this.#channel = channel;
    this.#close = close;
    channel.on('data', (chunk: Buffer) => this.#take(chunk));
    channel.on('error', (error: Error) => this.lost(error));
    channel.on('close', () => this.lost(new Error('the connection was closed')));
  }

  /** Exchanges versions with the server. @throws Error if the server does not speak version 3 */
  async begin(): Promise<void> {
    const { type, fields } = await new Promise<{ type: number; fields: FieldReader }>((resolve, reject) => {
      this.#versioned = { resolve, reject };
      this.#channel.write(new FieldWriter(packetTypes.init).uint32(3).end());
    });
    const version = type === packetTypes.version ? fields.uint32() : 0;
    if (version !== 3) throw new Error(`the server speaks version ${version} of SFTP, not 3`);
    while (fields.rest().length > 0) {
      this.#extensions.add(fields.bytes().toString('latin1'));
      fields.bytes();
    }
  }

  /** Fails all requests that still wait for a reply. */
  lost(reason: Error): void {
    this.#fault ??= reason;
    const waiting = [...this.#waiting.values(), ...(this.#versioned ? [this.#versioned] : [])];
    this.#waiting.clear();
    this.#versioned = undefined;
    for (const { reject } of waiting) reject(this.#fault);
  }

  async sizeOf(path: string): Promise<number | undefined> {
    const found = await this.#attributes(path);
    if (!found) return undefined;
    if (found.sizeBytes === undefined) throw new Error(`the server does not report the size of ${path}`);
    return found.sizeBytes;
  }

  async isFolder(path: string): Promise<boolean> {
    const found = await this.#attributes(path);
    return ((found?.mode ?? 0) & fileType) === folderType;
  }

  async makeFolder(path: string): Promise<void> {
    await this.#ask(packetTypes.mkdir, (packet) => packet.text(path).uint32(0));
  }

  async open(path: string, how: 'read' | 'write' | 'resume'): Promise<Buffer> {
    const flags = { read: openFlags.read, resume: openFlags.write, write: openFlags.write | openFlags.create | openFlags.truncate }[how];
    const { type, fields } = await this.#ask(packetTypes.open, (packet) => packet.text(path).uint32(flags).uint32(0));
    if (type !== packetTypes.handle) throw new Error(`the server did not open ${path}`);
    return Buffer.from(fields.bytes());
  }

  async write(handle: Buffer, position: number, bytes: Uint8Array): Promise<void> {
    await this.#ask(packetTypes.write, (packet) => packet.bytes(handle).uint64(position).bytes(bytes), bytes.length);
  }

  async read(handle: Buffer, position: number, lengthBytes: number): Promise<Buffer | undefined> {
    try {
      const { type, fields } = await this.#ask(packetTypes.read, (packet) => packet.bytes(handle).uint64(position).uint32(lengthBytes));
      const bytes = type === packetTypes.data ? fields.bytes() : undefined;
      if (!bytes || bytes.length === 0 || bytes.length > lengthBytes) throw new Error('the server did not return the requested data');
      return bytes;
    } catch (error) {
      if (error instanceof SftpRefusal && error.code === statusCodes.eof) return undefined;
      throw error;
    }
  }

  async sync(handle: Buffer): Promise<void> {
    const name = 'fsync@openssh.com';
    if (this.#extensions.has(name)) await this.#ask(packetTypes.extended, (packet) => packet.text(name).bytes(handle));
  }

  async close(handle: Buffer): Promise<void> {
    await this.#ask(packetTypes.close, (packet) => packet.bytes(handle));
  }

  // RENAME of version 3 does not replace files. Without `posix-rename`, the old file must be deleted first, so for a moment no file has the
  // name.
  async replace(from: string, to: string): Promise<void> {
    const name = 'posix-rename@openssh.com';
    if (this.#extensions.has(name)) {
      await this.#ask(packetTypes.extended, (packet) => packet.text(name).text(from).text(to));
      return;
    }
    if (await this.#attributes(to)) await this.remove(to);
    await this.#ask(packetTypes.rename, (packet) => packet.text(from).text(to));
  }

  async remove(path: string): Promise<void> {
    await this.#ask(packetTypes.remove, (packet) => packet.text(path));
  }

  end(): void {
    this.lost(new Error('the connection was closed'));
    this.#close();
  }

  /** Requests the attributes of a path. @returns undefined if nothing exists at the path */
  async #attributes(path: string): Promise<{ sizeBytes?: number; mode?: number } | undefined> {
    try {
      const { type, fields } = await this.#ask(packetTypes.stat, (packet) => packet.text(path));
      if (type !== packetTypes.attrs) throw new Error(`the server does not report the type of ${path}`);
      const { sizeBytes, mode } = fields.attributes();
      return { ...(sizeBytes !== undefined && { sizeBytes }), ...(mode !== undefined && { mode }) };
    } catch (error) {
      if (error instanceof SftpRefusal && error.code === statusCodes.noSuchFile) return undefined;
      throw error;
    }
  }

  /** Sends one request. @param fill adds the fields of the request @throws SftpRefusal for a status other than success */
  #ask(type: number, fill: (packet: FieldWriter) => FieldWriter, dataBytes = 0): Promise<{ type: number; fields: FieldReader }> {
    if (this.#fault) return Promise.reject(this.#fault);
    const id = this.#next;
    this.#next = (id + 1) % 2 ** 32;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#channel.write(fill(new FieldWriter(type, 256 + dataBytes).uint32(id)).end());
    });
  }

  #take(chunk: Buffer): void {
    try {
      this.#packets.push(chunk);
      for (let packet = this.#packets.next(); packet; packet = this.#packets.next()) {
        const fields = new FieldReader(packet.length === 1 ? packet[0] : Buffer.concat(packet));
        this.#answer(fields.byte(), fields);
      }
    } catch (error) {
      this.lost(error as Error);
      this.#close();
    }
  }

  #answer(type: number, fields: FieldReader): void {
    if (this.#versioned) {
      const { resolve } = this.#versioned;
      this.#versioned = undefined;
      resolve({ type, fields });
      return;
    }
    const id = fields.uint32();
    const answer = this.#waiting.get(id);
    if (!answer) throw new Error('the server answered a request that was not sent');
    this.#waiting.delete(id);
    const code = type === packetTypes.status ? fields.uint32() : statusCodes.ok;
    if (code === statusCodes.ok) {
      answer.resolve({ type, fields });
      return;
    }
    const said = fields.rest().length >= 4 ? fields.bytes().toString('utf8').slice(0, 500) : '';
    answer.reject(new SftpRefusal(code, said === '' ? `the server refused the request (status ${code})` : said));
  }
}

interface KnownKeys {
  /** Types of the keys, such as `ssh-ed25519`. */
  types: readonly string[];
  has(key: Buffer): boolean;
}

/**
 * Reads the keys of a server from a file in the format of OpenSSH's `known_hosts` (sshd(8)). Plain and hashed names, patterns,
 * `[host]:port` for ports other than 22, and `@revoked` are supported. Certificates (`@cert-authority`) are not supported.
 */
export function knownKeys(text: string, host: string, port: number): KnownKeys {
  const name = (port === 22 ? host : `[${host}]:${port}`).toLowerCase();
  const [known, revoked]: [string[], Set<string>] = [[], new Set()];
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    const marker = fields[0]?.startsWith('@') ? fields.shift() : undefined;
    const [patterns = '', , key = ''] = fields;
    if (patterns.startsWith('#') || key === '' || !matches(patterns, name)) continue;
    if (marker === '@revoked') revoked.add(key);
    else if (marker === undefined) known.push(key);
  }
  const keys = new Set(known.filter((key) => !revoked.has(key)));
  return { types: [...new Set([...keys].map(keyType))], has: (key) => keys.has(key.toString('base64')) };
}

function matches(patterns: string, name: string): boolean {
  if (patterns.startsWith('|1|')) {
    const [salt = '', digest = ''] = patterns.slice('|1|'.length).split('|');
    return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === digest;
  }
  const all = patterns.toLowerCase().split(',');
  return (
    all.some((pattern) => isMatch(pattern, name)) && !all.some((pattern) => pattern.startsWith('!') && isMatch(pattern.slice(1), name))
  );
}

function isMatch(pattern: string, name: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === name;
  // This loop takes at most pattern length × name length steps. A regular expression with many `*` could take far more steps.
  let [at, in_, star, mark] = [0, 0, -1, 0];
  while (in_ < name.length) {
    if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[in_])) {
      at++;
      in_++;
    } else if (pattern[at] === '*') {
      star = at++;
      mark = in_;
    } else if (star >= 0) {
      at = star + 1;
      in_ = ++mark;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

function keyType(key: string): string {
  try {
    return readStrings(Buffer.from(key, 'base64'), 1)[0]?.toString('latin1') ?? '';
  } catch {
    return '';
  }
}
