import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openFlags, packetTypes, statusCodes } from '../../src/ssh/sftp/packets/packets.ts';
import { Client } from './client.ts';
import { append, part, sha256, uploads } from './draft-uploads.ts';
import { loginSftp, type SftpLogin } from './sftp-client.ts';
import { type WatchedReply, WatchedRequest } from './watched-request.ts';

/** The outcome of a change, as its client knows it. `done`: it was made. `refused`: it was not made. `unknown`: no reply arrived. */
export type Fate = 'done' | 'refused' | 'unknown';

/** Time limit of a node's reply in milliseconds. After it, the client uses another node. */
export const patienceMs = 4000;

const pieceBytes = 300_000;
const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };

/** Returns content that no other file has. */
export function contentOf(name: string, bytes: number): Buffer {
  return createHash('shake256', { outputLength: bytes }).update(name).digest();
}

/**
 * Thrown if there is no reply, or if the reply does not say whether the request was executed. The client then tries again, later or at
 * another node.
 */
class NotNow extends Error {}

/** A client that works on its own files at several nodes, even if nodes fail, and records the replies about each file. */
abstract class FaultedClient {
  /** Files by name, with the outcome of the last change. `done`: the file must have this content. `refused`: the file must not exist. */
  readonly told = new Map<string, { fate: Fate; content: Buffer }>();
  /** Files that are known not to exist any more. */
  readonly gone = new Set<string>();
  readonly statuses = new Map<string, number>();
  readonly failed: Promise<never>;
  protected readonly home: string;
  protected readonly name: string;
  readonly #user: string;
  protected readonly ports: number[];
  #fail: (reason: unknown) => void = () => {};
  #isLast = false;
  #running: Promise<void> | undefined;

  constructor(folder: string, ports: readonly number[], name: string, user: string) {
    this.home = join(folder, 'home');
    this.ports = [...ports];
    this.name = name;
    this.#user = user;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => {});
  }

  start(): void {
    this.#running = this.#work().catch((error) => this.#fail(error));
  }

  async finish(): Promise<void> {
    this.#isLast = true;
    await Promise.race([this.#running, this.failed]);
  }

  async #work(): Promise<void> {
    for (let number = 0; !this.#isLast; number++) await this.once(`${this.name}-${number}`);
  }

  /** Works on one file until its final state. */
  protected abstract once(name: string): Promise<void>;

  protected note(name: string, content: Buffer, fate: Fate): void {
    this.told.set(name, { fate, content });
    const path = join(this.home, name);
    if (fate === 'done') assert.ok(readFileSync(path).equals(content), `${name}: the change was made, but the content is missing`);
    if (fate === 'refused') assert.equal(existsSync(path), false, `${name}: the change was refused, but the file exists`);
  }

  /** Sends a request with its body in two parts, so that a fault may happen in between. @throws NotNow if there is no reply */
  protected async ask(
    method: string,
    target: string,
    headers: Record<string, string>,
    body: Buffer = Buffer.alloc(0),
  ): Promise<WatchedReply> {
    const client = new Client(`http://127.0.0.1:${this.ports[0]}`);
    const length: Record<string, string> = body.length > 0 || method === 'PUT' ? { 'content-length': String(body.length) } : {};
    const request = new WatchedRequest(client, method, target, { accept: 'application/json', ...headers, ...length }, this.#user);
    const sent = async () => {
      const half = body.length >> 1;
      if (half > 0) await request.write(body.subarray(0, half));
      if (half > 0) await sleep(5);
      return request.end(body.length > 0 ? body.subarray(half) : undefined);
    };
    const reply = await Promise.race([sent(), request.done, sleep(patienceMs, undefined, { ref: false })]);
    request.cut();
    const kind = `${method} ${reply === undefined ? 'late' : reply.status}${reply && isUnsynced(reply) ? ' durable: false' : ''}`;
    this.statuses.set(kind, (this.statuses.get(kind) ?? 0) + 1);
    if (reply && reply.status !== 0) return reply;
    this.ports.push(this.ports.shift() as number);
    throw new NotNow('no reply');
  }

  /** Sends a request that makes a single change. @returns the outcome */
  protected async change(method: string, target: string, headers: Record<string, string>, body?: Buffer): Promise<Fate> {
    try {
      const reply = await this.ask(method, target, headers, body);
      if (reply.status < 300 || isUnsynced(reply)) return 'done';
      // Examples: 401 if the account cannot be looked up, 412 if a file has the new name of a MOVE, 500 if a disk fails before the change
      // is made. (If the disk fails after the change, `isUnsynced` is true.)
      assert.ok([401, 412, 423, 429, 500, 503].includes(reply.status), `${method} ${target}: ${reply.status} ${reply.text}`);
      await sleep(30);
      return 'refused';
    } catch (error) {
      if (error instanceof NotNow) return 'unknown';
      throw error;
    }
  }
}

function isUnsynced({ status, text }: WatchedReply): boolean {
  return status >= 400 && /"durable": ?false/.test(text);
}

/** Writes, replaces, renames and removes files. Each name is used only once, because a request without a reply may be executed later. */
export class ChangingClient extends FaultedClient {
  protected async once(name: string): Promise<void> {
    const first = contentOf(name, 200_000);
    const fate = await this.change('PUT', `/home/${name}`, {}, first);
    this.note(name, first, fate);
    if (fate !== 'done') return;
    const second = contentOf(`${name} again`, 210_000);
    const replaced = await this.change('PUT', `/home/${name}`, {}, second);
    if (replaced === 'unknown') this.told.set(name, { fate: 'unknown', content: second });
    else this.note(name, replaced === 'done' ? second : first, 'done');
    if (replaced !== 'done') return;
    const moved = `${name}-moved`;
    const renamed = await this.change('MOVE', `/home/${name}`, { destination: `/home/${moved}`, overwrite: 'F' });
    this.note(moved, second, renamed);
    if (renamed === 'refused') return;
    this.told.delete(name);
    if (renamed === 'unknown') return;
    this.gone.add(name);
    assert.equal(existsSync(join(this.home, name)), false, `${name}: it was renamed, but the old name still exists`);
    const removed = await this.change('DELETE', `/home/${moved}`, {});
    if (removed === 'refused') return this.note(moved, second, 'done');
    this.told.delete(moved);
    if (removed === 'unknown') return;
    this.gone.add(moved);
    assert.equal(existsSync(join(this.home, moved)), false, `${moved}: it was removed, but it still exists`);
  }
}

/** The protocol of an upload. */
type Protocol = 'draft' | 'tus';

/** Uploads files in pieces, each with its digest, and continues at the offset that the service reports. */
export class DigestClient extends FaultedClient {
  readonly protocol: Protocol;
  /** Uploads that the service lost together with the data of Redis. */
  readonly forgotten = new Set<string>();

  constructor(folder: string, ports: readonly number[], name: string, user: string, protocol: Protocol) {
    super(folder, ports, name, user);
    this.protocol = protocol;
  }

  protected async once(name: string): Promise<void> {
    const content = contentOf(name, 900_000);
    this.told.set(name, { fate: 'unknown', content });
    const state = { url: '', toldBytes: 0 };
    const endMs = performance.now() + 180_000;
    for (;;) {
      try {
        if (!(await this.#goOn(name, content, state))) return;
        this.note(name, content, 'done');
        return;
      } catch (error) {
        if (!(error instanceof NotNow)) throw error;
        // Without its URL, the client cannot continue the upload.
        if (state.url === '') return;
        assert.ok(performance.now() < endMs, `${name}: the upload did not end within three minutes: ${error.message}`);
        await sleep(50);
      }
    }
  }

  /** @returns whether the upload is complete; false if the service has lost it */
  async #goOn(name: string, content: Buffer, state: { url: string; toldBytes: number }): Promise<boolean> {
    const isTus = this.protocol === 'tus';
    if (state.url === '') {
      const path = Buffer.from(`/${name}`).toString('base64');
      const length = { 'upload-length': String(content.length) };
      const begun = isTus
        ? await this.ask('POST', uploads, { ...tus, ...length, 'upload-metadata': `path ${path}`, 'content-length': '0' })
        : await this.ask('PUT', `/home/${name}`, { ...part, ...length });
      later(begun, name);
      assert.equal(begun.status, 201, `${name}: ${begun.text}`);
      state.url = String(begun.headers.location);
    }
    const head = await this.ask('HEAD', state.url, isTus ? tus : {});
    later(head, name);
    if (head.status === 404 || head.status === 410) {
      this.forgotten.add(name);
      return false;
    }
    assert.ok([200, 204].includes(head.status), `${name}: HEAD ${head.status}`);
    const offset = Number(head.headers['upload-offset']);
    assert.ok(offset >= state.toldBytes, `${name}: the offset is ${offset}, but it was ${state.toldBytes} before`);
    state.toldBytes = offset;
    if (isTus ? offset === content.length : head.headers['upload-complete'] === '?1') return true;
    for (let at = offset; at < content.length; ) {
      const piece = content.subarray(at, at + pieceBytes);
      const isLast = at + piece.length === content.length;
      const sha1 = createHash('sha1').update(piece).digest('base64');
      const headers: Record<string, string> = isTus
        ? { ...tus, 'upload-offset': String(at), 'upload-checksum': `sha1 ${sha1}` }
        : { ...append(at, isLast), 'content-digest': sha256(piece) };
      const reply = await this.ask('PATCH', state.url, headers, piece);
      if (isUnsynced(reply) && isLast) return true;
      later(reply, name);
      // The service may have received more by an earlier request whose reply was lost. Then it refuses this offset.
      if ([404, 409, 410].includes(reply.status)) throw new NotNow(`PATCH ${reply.status}`);
      assert.equal(reply.status, isLast && !isTus ? 201 : 204, `${name}: ${reply.text}`);
      at += piece.length;
      state.toldBytes = at;
    }
    return true;
  }
}

/** @throws NotNow if the reply says nothing about the upload: the account cannot be looked up, a node is not ready, or a disk fails */
function later({ status, text }: WatchedReply, name: string): void {
  if ([401, 429, 500, 503].includes(status)) throw new NotNow(`${name}: ${status} ${text}`);
}

/** Uploads files over SFTP, in pieces that are out of order. Each name is used only once. */
export class SftpFaultedClient extends FaultedClient {
  readonly begunMs = new Map<string, number>();
  readonly #t: TestContext;
  #login: SftpLogin | undefined;

  constructor(t: TestContext, folder: string, ports: readonly number[], name: string) {
    super(folder, ports, name, '');
    this.#t = t;
  }

  protected async once(name: string): Promise<void> {
    try {
      this.#login ??= await soon(loginSftp(this.#t, this.ports[0] as number));
    } catch {
      this.ports.push(this.ports.shift() as number);
      await sleep(100);
      return;
    }
    const content = contentOf(name, 300_000);
    this.begunMs.set(name, performance.now());
    const { ended } = this.#login;
    const lost = ended.then(() => {
      throw new NotNow('the connection ended');
    });
    lost.catch(() => {});
    try {
      this.note(name, content, await Promise.race([soon(this.#upload(this.#login, name, content)), lost]));
    } catch (error) {
      if (!(error instanceof NotNow)) throw error;
      this.note(name, content, 'unknown');
      this.#count('SFTP unknown');
      this.#login.client.end();
      this.#login = undefined;
      this.ports.push(this.ports.shift() as number);
    }
  }

  async #upload({ sftp }: SftpLogin, name: string, content: Buffer): Promise<Fate> {
    const { write, create, truncate } = openFlags;
    const opened = await sftp.ask(packetTypes.open, (fields) =>
      fields
        .text(name)
        .uint32(write | create | truncate)
        .attributes({}),
    );
    if (opened.kind !== 'handle') {
      this.#count('SFTP refused');
      await sleep(30);
      return 'refused';
    }
    const pieces = [200_000, 0, 100_000].map((at) => sftp.write(opened.handle, at, content.subarray(at, at + 100_000)));
    const isWritten = (await Promise.all(pieces)).every((code) => code === statusCodes.ok);
    const closed = await sftp.ask(packetTypes.close, (fields) => fields.bytes(opened.handle));
    assert.ok(closed.kind === 'status');
    const isDone = closed.code === statusCodes.ok || /^Done, but not safe on disk/.test(String(closed.message));
    this.#count(`SFTP ${closed.code} ${isWritten ? '' : 'not written'}`);
    if (isDone) assert.ok(isWritten, `${name}: CLOSE succeeded, but a WRITE failed`);
    return isDone ? 'done' : 'refused';
  }

  #count(kind: string): void {
    this.statuses.set(kind, (this.statuses.get(kind) ?? 0) + 1);
  }
}

/** @throws NotNow if it takes too long */
async function soon<T>(asked: Promise<T>): Promise<T> {
  asked.catch(() => {});
  const late = sleep(patienceMs, undefined, { ref: false }).then(() => {
    throw new NotNow('late');
  });
  return Promise.race([asked, late]);
}
