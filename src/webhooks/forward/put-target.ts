import type { Clock } from '../../lib/clock.ts';
import { mediaTypeByName } from '../../lib/media-types.ts';
import { RemoteEndpoint, type RemoteResult } from '../../lib/remote/remote-endpoint.ts';
import { recordReply, statusText } from '../recorded-reply.ts';
import { askedWaitMs } from '../retries.ts';
import { encodedPath, type TargetUrl } from './address.ts';
import { digestPart, toldChunks } from './content.ts';
import { FileChanged, type ForwardedFile, type Target, type TargetReceipt, TargetRefusal } from './means.ts';
import type { ForwardOptions } from './options.ts';

const largestReplyBytes = 1024 * 1024;

/** Creates the HTTP client for a target. @param options options of the handler */
export function targetEndpoint(
  { headers, username, password, timeout }: Pick<ForwardOptions, 'headers' | 'username' | 'password' | 'timeout'>,
  { clock, caPem }: { clock: Clock; caPem: string | undefined },
): RemoteEndpoint {
  const limits = { timeoutMs: timeout * 1000, maximumReplyBytes: largestReplyBytes, truncatesReply: true };
  return new RemoteEndpoint({ headers, username, password, ...limits, caPem, clock });
}

/**
 * Returns the reply of a target that accepted a request. @throws TargetRefusal for any other result, with the pause that the target
 * requested
 */
export function requireTaken(result: RemoteResult, nowMs: number): Extract<RemoteResult, { kind: 'reply' }> {
  if (result.kind !== 'reply') throw new TargetRefusal(result.message, undefined, undefined, { code: result.fault, value: result.value });
  if (result.status >= 200 && result.status < 300) return result;
  const mayAsk = result.status === 429 || result.status === 503;
  throw new TargetRefusal(statusText(result), recordReply(result), mayAsk ? askedWaitMs(result.headers, nowMs) : undefined);
}

/** Sends files with PUT (RFC 9110 §9.3.4), together with their digests (RFC 9530). */
export class PutTarget implements Target {
  readonly #url: TargetUrl;
  readonly #endpoint: RemoteEndpoint;
  readonly #clock: Clock;

  constructor(url: TargetUrl, options: ForwardOptions, dependencies: { clock: Clock; caPem: string | undefined }) {
    this.#url = url;
    this.#clock = dependencies.clock;
    this.#endpoint = targetEndpoint(options, dependencies);
  }

  async send(segments: readonly string[], file: ForwardedFile, _id: string, signal: AbortSignal | undefined): Promise<TargetReceipt> {
    const digest = await digestPart(file, 0, file.sizeBytes, signal);
    let changed: FileChanged | undefined;
    const chunks = async function* () {
      try {
        yield* toldChunks(file, 0, file.sizeBytes, digest, signal);
      } catch (error) {
        if (error instanceof FileChanged) changed = error;
        throw error;
      }
    };
    const result = await this.#endpoint.request({
      url: `${this.#url.origin}${encodedPath(segments)}${this.#url.query}`,
      method: 'PUT',
      headers: { 'content-type': mediaTypeByName(segments.at(-1) ?? '') },
      finalHeaders: { 'repr-digest': `sha-256=:${digest.toString('base64')}:` },
      body: { sizeBytes: file.sizeBytes, chunks },
      signal,
    });
    if (changed) throw changed;
    const reply = requireTaken(result, this.#clock.nowMs());
    if (reply.isEarly) throw new TargetRefusal(`${statusText(reply)}, but the reply came before the end of the file`, recordReply(reply));
    this.#compare(reply, digest);
    return { digest: digest.toString('hex'), status: reply.status, reason: reply.reason };
  }

  /** Compares the digest that the target reports, if any, with that of the sent file. @throws TargetRefusal if they differ */
  #compare(reply: Extract<RemoteResult, { kind: 'reply' }>, digest: Buffer): void {
    const told = reply.headers.find(([name]) => name === 'repr-digest')?.[1];
    const has = /(?:^|[,\s])sha-256=:([A-Za-z0-9+/=]*):/.exec(told ?? '')?.[1];
    if (has !== undefined && has !== digest.toString('base64'))
      throw new TargetRefusal(`${statusText(reply)}, but the Repr-Digest of the target differs`, recordReply(reply));
  }

  // The test uses OPTIONS, because such a request sends no file. Any status shows that the target answers.
  async ping(signal: AbortSignal | undefined): Promise<string | undefined> {
    const result = await this.#endpoint.request({ url: `${this.#url.origin}/`, method: 'OPTIONS', headers: {}, signal });
    return result.kind === 'no-reply' ? result.message : undefined;
  }

  close(): void {
    this.#endpoint.close();
  }
}
