import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type TestReply } from './client.ts';
import { type RunningScript, startUploadScript, type UploadScript } from './upload-scripts.ts';

/** A client that uploads one file after the other with the draft, until a test ends it. */
abstract class UploadingClient {
  protected readonly folder: string;
  protected readonly url: string;
  readonly #name: string;
  readonly #done: string[] = [];
  #running: Promise<void> | undefined;
  #isLast = false;
  /** Rejects if there is a fault that a kill cannot cause. */
  readonly failed: Promise<never>;
  #fail: (reason: unknown) => void = () => {};

  constructor(folder: string, port: number, name: string) {
    this.folder = folder;
    this.url = `http://127.0.0.1:${port}`;
    this.#name = name;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => {});
  }

  start(): void {
    this.#running = this.#upload().catch((error) => this.#fail(error));
  }

  /** Waits until the last file is complete. @returns the names of all files */
  async finish(): Promise<string[]> {
    this.#isLast = true;
    await Promise.race([this.#running, this.failed]);
    return this.#done;
  }

  async #upload(): Promise<void> {
    for (let number = 0; number === 0 || !this.#isLast; number++) {
      const name = `${this.#name}-${number}`;
      const content = createHash('shake256', { outputLength: 1_500_000 + number })
        .update(name)
        .digest();
      await this.upload(name, content);
      const stored = join(this.folder, 'home', name);
      assert.ok(readFileSync(stored).equals(content), name);
      rmSync(stored);
      this.#done.push(name);
    }
  }

  /** Uploads a file until it is complete, even if processes are killed meanwhile. */
  protected abstract upload(name: string, content: Buffer): Promise<void>;
}

const pieceBytes = 400_000;

/** Time limit of a node's reply in milliseconds. After it, the client uses the next node. */
const patienceMs = 3000;

/** A client that remembers the replies, and switches to the next node if a node does not answer. */
export class AttentiveClient extends UploadingClient {
  readonly #ports: number[];

  constructor(folder: string, ports: number | readonly number[], name: string) {
    const all = [ports].flat();
    super(folder, all[0] as number, name);
    this.#ports = all;
  }

  protected async upload(name: string, content: Buffer): Promise<void> {
    const state = { url: '', toldBytes: 0 };
    for (;;) {
      try {
        return await this.#goOn(name, content, state);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        this.#ports.push(this.#ports.shift() as number);
        await sleep(20);
      }
    }
  }

  async #goOn(name: string, content: Buffer, state: { url: string; toldBytes: number }): Promise<void> {
    const client = new Client(`http://127.0.0.1:${this.#ports[0]}`);
    if (state.url === '') {
      const headers = { 'upload-complete': '?0', 'upload-length': String(content.length) };
      const begun = await soon(client.put(`/home/${name}`, '', { headers }));
      assert.equal(begun.status, 201, begun.text);
      state.url = String(begun.headers.location);
    }
    const head = await soon(client.send('HEAD', state.url));
    assert.equal(head.status, 204, head.text);
    const offset = Number(head.headers['upload-offset']);
    assert.ok(offset >= state.toldBytes, `the offset is ${offset}, but it was ${state.toldBytes} before`);
    if (head.headers['upload-complete'] === '?1') return;
    for (let at = offset; at < content.length; ) {
      const piece = content.subarray(at, at + pieceBytes);
      const isLast = at + piece.length === content.length;
      const headers = {
        'upload-offset': String(at),
        'upload-complete': isLast ? '?1' : '?0',
        'content-type': 'application/partial-upload',
      };
      const reply = await soon(client.send('PATCH', state.url, { headers, body: piece }));
      assert.equal(reply.status, isLast ? 201 : 204, reply.text);
      at += piece.length;
      state.toldBytes = at;
    }
  }
}

/** @throws Error if a node does not answer in time, or is not ready */
async function soon(asked: Promise<TestReply>): Promise<TestReply> {
  asked.catch(() => {});
  const reply = await Promise.race([asked, sleep(patienceMs, undefined, { ref: false })]);
  if (!reply || reply.status === 503) throw new Error('The node does not answer.');
  return reply;
}

/** A client that runs a script of the examples. If the script is killed, it is started again. */
export class ScriptClient extends UploadingClient {
  readonly #script: UploadScript;
  #run: RunningScript | undefined;

  constructor(folder: string, port: number, script: UploadScript) {
    super(folder, port, script);
    this.#script = script;
  }

  protected async upload(name: string, content: Buffer): Promise<void> {
    const file = join(this.folder, name);
    const isWhole = () => existsSync(join(this.folder, 'home', name)) && !existsSync(`${file}.upload`);
    writeFileSync(file, content);
    // If the script was killed after its upload was complete, nothing is left to do.
    while (!isWhole()) {
      this.#run = startUploadScript(this.#script, this.folder, file, `${this.url}/home/${name}`);
      const { code, stderr } = await this.#run.ended;
      if (code === 0) break;
      assert.equal(code, null, `${name}: ${stderr}`);
    }
    rmSync(file);
  }

  /** Kills the script and its child processes with SIGKILL. */
  async kill(): Promise<void> {
    const run = this.#run;
    if (run?.child.pid === undefined || run.child.exitCode !== null) return;
    try {
      process.kill(-run.child.pid, 'SIGKILL');
    } catch {
      // The script has ended by itself.
    }
    await run.ended;
  }
}
