import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Upload, type UploadOptions } from 'tus-js-client';
import { type BadLine, startBadLine } from './bad-line.ts';
import { testUser } from './secrets.ts';
import type { TestServer } from './server.ts';
import { startUploadScript, type UploadScript, writeNetrc } from './upload-scripts.ts';

/** The protocols of tus-js-client. */
export const tusProtocols = ['tus-v1', 'ietf-draft-03', 'ietf-draft-05'] as const;

const headers = { authorization: `Basic ${Buffer.from(testUser).toString('base64')}` };

/** Uploads with tus-js-client. @returns the methods of its requests */
export function uploadByTus(content: Buffer, options: Partial<UploadOptions> & { endpoint: string; protocol?: string }): Promise<string[]> {
  const methods: string[] = [];
  return new Promise((resolve, reject) => {
    new Upload(content, {
      headers,
      onBeforeRequest: (request) => {
        methods.push(request.getMethod());
      },
      onError: reject,
      onSuccess: () => resolve(methods),
      ...options,
    } as UploadOptions).start();
  });
}

interface Done {
  name: string;
  content: Buffer;
  /** Number of requests with which the client tried to begin an upload. Some of them may not have reached the server. */
  creations: number;
}

interface Case {
  seed: number;
  faults: number;
  bytes: number;
}

/** Uploads over connections whose faults are determined by seeds, and checks the results. */
export class UploadsOverBadLines {
  readonly #t: TestContext;
  readonly #server: TestServer;
  readonly #done: Done[] = [];
  readonly #happened: BadLine['happened'] = [];

  constructor(t: TestContext, server: TestServer) {
    this.#t = t;
    this.#server = server;
  }

  /** Uploads with tus-js-client. @param chunkSize size of its requests in bytes; without it, one request sends everything */
  async byTus(of: Case, protocol: (typeof tusProtocols)[number], chunkSize: number | undefined): Promise<void> {
    const { name, content, line } = await this.#begin(of, protocol);
    const methods = await uploadByTus(content, {
      endpoint: `${line.url}/home/__svc__/uploads/`,
      protocol,
      metadata: { filename: name },
      retryDelays: Array.from({ length: of.faults + 2 }, () => 20),
      ...(chunkSize === undefined ? {} : { chunkSize }),
    });
    this.#end({ name, content, creations: methods.filter((method) => method === 'POST').length }, line);
  }

  /** Uploads with a script of the examples. */
  async byScript(of: Case, script: UploadScript): Promise<void> {
    const { name, content, line } = await this.#begin(of, script);
    const folder = join(this.#server.folder, name);
    mkdirSync(folder);
    writeNetrc(this.#t, folder);
    writeFileSync(join(folder, 'file'), content);
    const { code, stderr } = await startUploadScript(script, folder, join(folder, 'file'), `${line.url}/home/${name}`).ended;
    assert.equal(code, 0, `${name}: ${stderr}`);
    this.#end({ name, content, creations: 1 + of.faults }, line);
  }

  async #begin({ seed, faults, bytes }: Case, client: string): Promise<{ name: string; content: Buffer; line: BadLine }> {
    const name = `${client}-${seed}-${this.#done.length}`;
    const content = createHash('shake256', { outputLength: bytes }).update(name).digest();
    const line = await startBadLine(this.#t, this.#server.port, {
      seed: seed + this.#done.length,
      faults,
      maxBytes: Math.max(2000, bytes / 4),
    });
    return { name, content, line };
  }

  #end(done: Done, { happened }: BadLine): void {
    assert.ok(readFileSync(join(this.#server.home, done.name)).equals(done.content), done.name);
    this.#done.push(done);
    this.#happened.push(...happened);
  }

  /**
   * Asserts that each upload has events of its beginning and its end, but not more than its requests explain.
   *
   * @returns the number of faults of each kind
   */
  async assertToldOnce(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { id, data } of await this.#server.events()) {
      const key = `${id} ${String(data.path)}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    for (const { name, content, creations } of this.#done) {
      const count = (id: number) => counts.get(`${id} /${name}`) ?? 0;
      // For an empty file, the creation also completes the upload. If the client does not get the reply, it creates another upload.
      const maxEnds = content.length === 0 ? creations : 1;
      assert.ok(count(40017) >= 1 && count(40017) <= maxEnds, `${name}: ${count(40017)} ended`);
      assert.equal(count(40022), 0, name);
      assert.ok(count(40021) >= 1 && count(40021) <= creations, `${name}: ${count(40021)} of ${creations} began`);
    }
    const kinds = new Map<string, number>();
    for (const kind of this.#happened) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    return kinds;
  }
}
