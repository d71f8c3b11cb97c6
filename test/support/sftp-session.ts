import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Duplex, PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import { type Account, effectiveAccount, type GroupConfiguration } from '../../src/accounts/account.ts';
import type { EventDispatcher } from '../../src/events/dispatcher.ts';
import type { EventContext, EventDraft, EventServer } from '../../src/events/event.ts';
import { createEvent } from '../../src/events/event-factory.ts';
import { AccountFiles } from '../../src/files/account-files.ts';
import { FileCache } from '../../src/files/disk/file-cache.ts';
import { PathMutex } from '../../src/files/disk/path-mutex.ts';
import { Retention } from '../../src/files/disk/retention.ts';
import { Temporaries } from '../../src/files/disk/temporaries.ts';
import type { FilesEnvironment } from '../../src/files/files-environment.ts';
import { HandleShares } from '../../src/files/handle-shares.ts';
import { HeldUploads } from '../../src/files/inspections/held-uploads.ts';
import { Inspections } from '../../src/files/inspections/inspections.ts';
import { LockGuard } from '../../src/files/locks/lock-guard.ts';
import { MissingFolders } from '../../src/files/mounts.ts';
import { Quotas } from '../../src/files/quota.ts';
import { Transfers } from '../../src/files/transfers.ts';
import { KnownTrashes } from '../../src/files/trash/known-trashes.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { ThrottledCount } from '../../src/lib/rate-meter.ts';
import { MemoryUrlHealth } from '../../src/lib/remote/url-health.ts';
import { type SshServiceOptions, sshOptions } from '../../src/ssh/options.ts';
import { type Attributes, packetTypes } from '../../src/ssh/sftp/packets/packets.ts';
import type { FieldWriter } from '../../src/ssh/sftp/packets/replies.ts';
import { serveSftp } from '../../src/ssh/sftp/session.ts';
import type { SshChannel, SshClient } from '../../src/ssh/ssh-client.ts';
import { MemoryLocks } from '../../src/state/memory/locks.ts';
import { FileUploadStore } from '../../src/state/memory/uploads.ts';
import { readReply, requestPacket, type SftpReply } from './sftp-requests.ts';
import { temporaryFolder } from './temp.ts';

export interface TestFiles {
  files: AccountFiles;
  environment: FilesEnvironment;
  home: string;
  /** The limits in `server.uploads`. */
  uploadLimits: { expireAfterMs: number; maxPerAccount: number };
  /** IDs and data of all events so far. */
  events: { id: number; data: Record<string, unknown> }[];
}

const server: EventServer = { uuid: 'server', type: 'server', name: 'test' };
const component = { uuid: 'sftp', type: 'ssh', name: 'SFTP' };
const peer = { address: '127.0.0.1', port: 1, protocol: 'TCP', family: 'IPv4' } as const;
const context: EventContext = { account: { uuid: 'alice', name: 'alice', peer }, component };

/** Returns the files of an account in a new folder, as an SSH service would have them, but without a service. */
export function testFiles(t: TestContext, group: Partial<GroupConfiguration> = {}): TestFiles {
  const folder = temporaryFolder(t);
  const home = join(folder, 'home');
  const data = join(folder, 'data');
  mkdirSync(home);
  mkdirSync(data);
  const events: TestFiles['events'] = [];
  const emit = (draft: EventDraft) => {
    const event = createEvent(draft, server, systemClock.nowMs());
    events.push({ id: draft.id, data: event.data });
    return event;
  };
  const dispatcher: EventDispatcher = {
    emit,
    emitGrouped: emit,
    grouped: () => undefined,
    emitDurable: async (draft) => emit(draft),
    emitAndWait: async (draft) => ({ event: emit(draft), delivery: { outcome: 'unavailable' } }),
    assertWritable() {},
  };
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write: (line) => process.stderr.write(line) });
  const temporaries = new Temporaries(data, log);
  t.after(() => temporaries.close());
  const uploadLimits = { expireAfterMs: 60_000, maxPerAccount: 1000 };
  const inspections = new Inspections({ events: dispatcher, clock: systemClock, log, urlHealth: () => new MemoryUrlHealth(systemClock) });
  const store = (folder: string) =>
    new FileUploadStore({ dataFolderPath: data, folder, limits: () => uploadLimits, clock: systemClock, log });
  const environment: FilesEnvironment = {
    held: new HeldUploads({ store: store('held'), inspections, environment: () => environment, server, isAlone: true }),
    events: dispatcher,
    clock: systemClock,
    log,
    temporaries,
    quotas: new Quotas(systemClock),
    pathMutex: new PathMutex(),
    locks: new MemoryLocks(systemClock, () => true),
    fileCache: new FileCache(systemClock, 0),
    uploads: store('uploads'),
    transfers: new Transfers(systemClock),
    retention: new Retention(data, systemClock),
    trashes: new KnownTrashes(data),
    missingFolders: new MissingFolders(log),
    excludedPaths: [data],
  };
  const groups = new Map([['DEFAULT_GROUP', { enabled: true, home_folder_path: home, ...group }]]);
  const account: Account = effectiveAccount('alice', {}, groups, { uuid: 'local', type: 'application' });
  return {
    files: new AccountFiles(account, environment, context, new LockGuard(environment.locks, account.uuid)),
    environment,
    uploadLimits,
    home,
    events,
  };
}

/** An SFTP session over a stream in memory, with a client that sends raw packets. */
export interface TestSession extends TestFiles {
  client: RawSftp;
  /** The server's side of the stream. */
  channel: SshChannel;
  /** Resolves when the session has ended. */
  served: Promise<void>;
  /** Cuts the connection. */
  lose(): void;
}

export function testSession(
  t: TestContext,
  options: Partial<SshServiceOptions> = {},
  group: Partial<GroupConfiguration> = {},
  shared: TestFiles = testFiles(t, group),
  handles = new HandleShares(1_000_000),
): TestSession {
  const gone = new AbortController();
  const [ours, theirs] = streamPair();
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write: (line) => process.stderr.write(line) });
  const sshClient: SshClient = {
    connectionId: 'test',
    account: shared.files.account,
    files: shared.files,
    context,
    events: shared.environment.events,
    options: { ...sshOptions.parse({ type: 'ssh' }), ...options },
    algorithms: { kex: '', host_key: '', cipher_in: '', cipher_out: '', mac_in: '', mac_out: '' },
    software: 'test',
    clock: systemClock,
    log,
    handles,
    observe: undefined,
    badRequests: new ThrottledCount(systemClock, 1000),
    ended: gone.signal,
    leaving: new AbortController().signal,
    heldBytes: () => 0,
    onDrain: () => () => {},
    noteActivity() {},
    countRequest() {},
  };
  const channel: SshChannel = Object.assign(ours, { stderr: new PassThrough(), exit() {}, close: () => void ours.end() });
  const served = serveSftp(channel, sshClient);
  t.after(async () => {
    gone.abort();
    await served;
  });
  return { ...shared, client: new RawSftp(theirs), channel, served, lose: () => gone.abort() };
}

/** Returns two connected streams. Bytes written to one of them wait until they are read from the other. */
function streamPair(): [Duplex, Duplex] {
  const end = (other: () => Duplex): Duplex & { wanted?: () => void } =>
    Object.assign(
      new Duplex({
        read() {
          const wanted = (this as Duplex & { wanted?: () => void }).wanted;
          (this as Duplex & { wanted?: (() => void) | undefined }).wanted = undefined;
          wanted?.();
        },
        write(chunk, _encoding, done) {
          const to = other() as Duplex & { wanted?: () => void };
          if (to.destroyed || to.push(chunk)) done();
          else to.wanted = () => done();
        },
        final(done) {
          if (!other().destroyed) other().push(null);
          done();
        },
      }),
      {},
    );
  const a: Duplex = end(() => b);
  const b: Duplex = end(() => a);
  return [a, b];
}

/** A client that sends raw SFTP packets. It may send many requests before it reads replies. */
export class RawSftp {
  readonly stream: Duplex;
  #received = Buffer.alloc(0);
  #lastId = 0;
  readonly #waiting = new Map<number, (reply: SftpReply) => void>();
  /** Extensions that the server announced. */
  readonly extensions: Promise<Map<string, string>>;
  /** IDs of the replies, in the order of their arrival. */
  readonly order: number[] = [];

  constructor(stream: Duplex) {
    this.stream = stream;
    this.extensions = new Promise((resolve) => {
      stream.on('data', (chunk: Buffer) => this.#receive(chunk, resolve));
    });
    stream.write(requestPacket(packetTypes.init, 3));
  }

  #receive(chunk: Buffer, onVersion: (extensions: Map<string, string>) => void): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 4 && this.#received.length >= 4 + this.#received.readUInt32BE(0)) {
      const end = 4 + this.#received.readUInt32BE(0);
      const packet = this.#received.subarray(4, end);
      this.#received = this.#received.subarray(end);
      if (packet[0] === packetTypes.version) {
        onVersion(readVersion(packet));
        continue;
      }
      const reply = readReply(packet);
      this.order.push(reply.id);
      this.#waiting.get(reply.id)?.(reply);
      this.#waiting.delete(reply.id);
    }
  }

  ask(type: number, build?: (fields: FieldWriter) => unknown): Promise<SftpReply> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.stream.write(requestPacket(type, id, build));
    });
  }

  /** Sends a request and returns the code of the status reply. */
  async status(type: number, build?: (fields: FieldWriter) => unknown): Promise<number> {
    const reply = await this.ask(type, build);
    if (reply.kind !== 'status') throw new Error(`A status was expected, and ${reply.kind} came.`);
    return reply.code;
  }

  /** @throws Error with the code and the message if there is no handle */
  async open(path: string, flags: number, attributes: Attributes = {}): Promise<Buffer> {
    return handleOf(await this.ask(packetTypes.open, (fields) => fields.text(path).uint32(flags).attributes(attributes)));
  }

  async opendir(path: string): Promise<Buffer> {
    return handleOf(await this.ask(packetTypes.opendir, (fields) => fields.text(path)));
  }

  write(handle: Buffer, offset: number, data: Buffer | string): Promise<number> {
    return this.status(packetTypes.write, (fields) => fields.bytes(handle).uint64(offset).bytes(Buffer.from(data)));
  }

  /** @returns the bytes; undefined at the end of the file */
  async read(handle: Buffer, offset: number, length: number): Promise<Buffer | undefined> {
    const reply = await this.ask(packetTypes.read, (fields) => fields.bytes(handle).uint64(offset).uint32(length));
    if (reply.kind === 'data') return reply.data;
    if (reply.kind === 'status' && reply.code === 1) return undefined;
    throw new Error(`Reading failed: ${JSON.stringify(reply)}`);
  }

  close(handle: Buffer): Promise<number> {
    return this.status(packetTypes.close, (fields) => fields.bytes(handle));
  }

  onPath(type: number, path: string): Promise<number> {
    return this.status(type, (fields) => fields.text(path));
  }

  rename(from: string, to: string): Promise<number> {
    return this.status(packetTypes.rename, (fields) => fields.text(from).text(to));
  }

  /** @returns the attributes, or the status code */
  async stat(path: string): Promise<Attributes | number> {
    const reply = await this.ask(packetTypes.stat, (fields) => fields.text(path));
    return reply.kind === 'attrs' ? reply.attributes : (reply as { code: number }).code;
  }

  /** Returns the names in a folder. */
  async list(path: string): Promise<string[]> {
    const handle = await this.opendir(path);
    const names: string[] = [];
    for (;;) {
      const reply = await this.ask(packetTypes.readdir, (fields) => fields.bytes(handle));
      if (reply.kind !== 'name') break;
      names.push(...reply.items.map(({ name }) => name));
    }
    await this.close(handle);
    return names.sort();
  }

  /** Uploads a file with the requests that most clients send. */
  async put(path: string, content: Buffer | string): Promise<void> {
    const handle = await this.open(path, 2 | 8 | 16);
    const codes = [await this.write(handle, 0, content), await this.close(handle)];
    if (codes.some((code) => code !== 0)) throw new Error(`Uploading failed: ${codes.join(', ')}`);
  }
}

function handleOf(reply: SftpReply): Buffer {
  if (reply.kind === 'handle') return reply.handle;
  throw Object.assign(new Error(`There is no handle: ${JSON.stringify(reply)}`), { status: (reply as { code?: number }).code });
}

function readVersion(packet: Buffer): Map<string, string> {
  const extensions = new Map<string, string>();
  let at = 5;
  const text = () => {
    const length = packet.readUInt32BE(at);
    at += 4 + length;
    return packet.toString('utf8', at - length, at);
  };
  while (at < packet.length) extensions.set(text(), text());
  return extensions;
}
