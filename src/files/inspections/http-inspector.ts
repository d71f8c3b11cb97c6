import type { Clock } from '../../lib/clock.ts';
import { readCaCertificates } from '../../lib/disk/named-file.ts';
import { formatReprDigest } from '../../lib/headers/digest-fields.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { readRefusal } from '../../lib/remote/refusal-body.ts';
import { type Failure, faultOf, RemoteEndpoint, type RemoteRequest, type RemoteResult } from '../../lib/remote/remote-endpoint.ts';
import type { UrlHealth } from '../../lib/remote/url-health.ts';
import type { HttpInspectionOptions } from './options.ts';
import type { Answer, InspectedContent, Inspector } from './verdict.ts';

const maxReplyBytes = 1024 * 1024;

/** Maximum size in bytes of the header `Inspection` before it is encoded. Servers accept request heads of at least 16 KiB. */
const maxHeaderBytes = 8 * 1024;

const jsonType = 'application/json; charset=utf-8';

/** Lets a remote HTTP endpoint inspect files (docs/spec/inspections.md#request). */
export class HttpInspector implements Inspector {
  readonly #uuid: string;
  readonly #options: HttpInspectionOptions;
  readonly #health: UrlHealth;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #endpoint: RemoteEndpoint;

  /** @throws ServiceError `unavailable` when the CA file cannot be read */
  constructor(uuid: string, options: HttpInspectionOptions, health: UrlHealth, { clock, log }: { clock: Clock; log: Log }) {
    this.#uuid = uuid;
    this.#options = options;
    this.#health = health;
    this.#clock = clock;
    this.#log = log;
    this.#endpoint = new RemoteEndpoint({
      headers: options.headers,
      username: options.username,
      password: options.password,
      timeoutMs: options.timeout * 1000,
      maximumReplyBytes: maxReplyBytes,
      refusesContentCodings: true,
      caPem: readCaCertificates(options.ca_certificates_path, 'ca_certificates_path'),
      clock,
    });
  }

  async inspect(content: InspectedContent, signal: AbortSignal): Promise<Answer> {
    const endMs = this.#clock.monotonicMs() + this.#options.timeout * 1000;
    try {
      const request = await this.#request(content);
      const leftMs = () => endMs - this.#clock.monotonicMs();
      const first = await this.#ask({ ...request, signal });
      const waitMs = retryAfterMs(first);
      if (waitMs === undefined || waitMs >= leftMs()) return parseAnswer(first);
      await this.#clock.sleep(waitMs, signal);
      return parseAnswer(await this.#ask({ ...request, signal, timeoutMs: Math.max(1, leftMs()) }));
    } catch (error) {
      signal.throwIfAborted();
      return { verdict: 'failure', message: (error as Error).message };
    }
  }

  async test(): Promise<Failure | undefined> {
    const result = await this.#ask({ headers: { 'content-type': jsonType }, body: JSON.stringify({ test: true }) });
    if (result.kind !== 'reply') return { message: result.message, fault: faultOf(result) };
    const isAlive = (result.status >= 200 && result.status < 300) || (result.status >= 400 && result.status < 500);
    if (isAlive) return undefined;
    const message = `the test request was answered with the status ${result.status}`;
    return { message, fault: { code: 'status', value: String(result.status) } };
  }

  close(): void {
    this.#endpoint.close();
  }

  async #request(content: InspectedContent): Promise<Pick<RemoteRequest, 'headers' | 'body'>> {
    const sha256 = await content.sha256();
    const { facts, sizeBytes, mediaType } = content;
    const { path, name, ...others } = facts.file;
    const file = { path, name, size: sizeBytes, digest: { 'sha-256': sha256.toString('base64') }, media_type: mediaType, ...others };
    const inspection = { id: crypto.randomUUID(), uuid: this.#uuid, name: this.#options.name || this.#uuid };
    const members = { inspection, ...facts, file };
    if (this.#options.content !== 'body') {
      const real = this.#options.content === 'path' ? { real_path: content.realPath() } : {};
      return { headers: { 'content-type': jsonType }, body: JSON.stringify({ ...members, file: { ...file, ...real } }) };
    }
    const whole = JSON.stringify(members);
    const { metadata: _, ...bare } = file;
    const json = Buffer.byteLength(whole) <= maxHeaderBytes ? whole : JSON.stringify({ ...members, file: bare, truncated: true });
    return {
      headers: {
        inspection: `:${Buffer.from(json).toString('base64')}:`,
        'content-type': mediaType,
        'repr-digest': formatReprDigest(sha256),
      },
      body: { sizeBytes, chunks: () => content.chunks() },
    };
  }

  /** Asks the URLs one after the other until one replies. */
  async #ask(request: Omit<RemoteRequest, 'url' | 'method'>): Promise<RemoteResult> {
    const { url: urls } = this.#options;
    const available = await this.#health.available(urls);
    let result: RemoteResult | undefined;
    for (const url of available.length > 0 ? available : urls) {
      result = await this.#endpoint.request({ ...request, url, method: 'POST' });
      if (result.kind !== 'no-reply') return result;
      this.#log.warn('an inspection gave no reply', { inspection: this.#uuid, url: redactedUrl(url), reason: result.message });
      if (urls.length > 1) await this.#health.suspend(url);
    }
    return result as RemoteResult;
  }
}

/** Returns the number of milliseconds after which a busy endpoint allows another request (`Retry-After`). */
function retryAfterMs(result: RemoteResult): number | undefined {
  if (result.kind !== 'reply' || result.status !== 503) return undefined;
  const seconds = result.headers.find(([name]) => name === 'retry-after')?.[1];
  return seconds !== undefined && /^\d{1,9}$/.test(seconds.trim()) ? Number(seconds) * 1000 : undefined;
}

function parseAnswer(result: RemoteResult): Answer {
  if (result.kind === 'no-reply') return { verdict: 'failure', message: `no reply: ${result.message}`, fault: faultOf(result) };
  if (result.kind === 'invalid-reply')
    return { verdict: 'failure', message: `an invalid reply: ${result.message}`, fault: faultOf(result) };
  const { status, body, isEarly } = result;
  if (status === 403 || status === 422) {
    const { response, shown, leftOut } = readRefusal(body);
    const text = shown?.message ?? (typeof response === 'string' ? response : leftOut);
    return { verdict: 'refuse', message: text, response, shown };
  }
  if (isEarly) return { verdict: 'failure', message: `a reply (${status}) before the whole file was sent` };
  if (status === 202) return { verdict: 'hold', message: parseMessage(body) };
  if (status >= 200 && status < 300) return { verdict: 'accept' };
  const value = `${status} ${result.reason}`.trim();
  return { verdict: 'failure', message: `the status ${value}`, fault: { code: 'status', value } };
}

function parseMessage(body: Buffer): string | undefined {
  try {
    const value = parseJson(body.toString('utf8'));
    return isObject(value) && typeof value.message === 'string' ? value.message.slice(0, 1000) : undefined;
  } catch {
    return undefined;
  }
}
