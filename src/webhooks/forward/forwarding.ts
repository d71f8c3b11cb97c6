import type { EventComponent, ServiceEvent } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock } from '../../lib/clock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { Message, Sender, Sent } from '../delivery.ts';
import type { DeliveryFault, RecordedFile } from '../records/delivery-record.ts';
import { encodedPath, parseTargetUrl, type TargetUrl, targetSegments } from './address.ts';
import {
  type AfterSending,
  FileChanged,
  type ForwardedFile,
  type ForwardMeans,
  type Target,
  type TargetReceipt,
  TargetRefusal,
} from './means.ts';
import type { ForwardOptions } from './options.ts';
import { PutTarget } from './put-target.ts';
import { S3Target } from './s3-target.ts';
import { SftpTarget } from './sftp-target.ts';

interface ForwardingDependencies {
  component: EventComponent;
  means: ForwardMeans;
  clock: Clock;
  /** Certificate authorities to trust in addition to those of the system, as PEM. */
  caPem: string | undefined;
}

/** Creates the client of a target. */
export function createTarget(
  url: TargetUrl,
  options: ForwardOptions,
  { means, clock, caPem }: Omit<ForwardingDependencies, 'component'>,
): Target {
  switch (url.kind) {
    case 'put':
      return new PutTarget(url, options, { clock, caPem });
    case 's3':
      return new S3Target(url, options, { clock, caPem });
    case 'sftp':
      return new SftpTarget(url, options, { clock, connect: (login) => means.connectSftp(login) });
    default:
      return url.kind satisfies never;
  }
}

/** Sends the files of events (docs/spec/delivery.md#forwarding). */
export class Forwarding implements Sender {
  readonly #dependencies: ForwardingDependencies;
  readonly #targets: ReadonlyMap<string, { url: TargetUrl; target: Target }>;
  /** The action on a file after it was sent. For a move, the path is stored as a target URL, because both follow the same rules. */
  readonly #after: 'keep' | 'delete' | TargetUrl;

  constructor(options: ForwardOptions, dependencies: ForwardingDependencies) {
    this.#dependencies = dependencies;
    this.#targets = new Map(
      options.url.map((text) => {
        const url = parseTargetUrl(text);
        return [text, { url, target: createTarget(url, options, dependencies) }];
      }),
    );
    const { after } = options;
    this.#after = after === 'keep' || after === 'delete' ? after : parseTargetUrl(`sftp://account@service${after.slice('move:'.length)}`);
  }

  async send(configured: string, message: Message, _nowMs: number, signals: Parameters<Sender['send']>[3]): Promise<Sent> {
    const { clock } = this.#dependencies;
    const [event] = message.events;
    const signal = signals.abort;
    const known = this.#targets.get(configured);
    if (!event || !known) throw new Error('A file is forwarded for one event, to one of the URLs of the handler.');
    const startedMs = clock.monotonicMs();
    const ended = (sent: Pick<Sent, 'verdict'> & Partial<Sent>): Sent => ({
      headers: [],
      ...sent,
      durationMs: clock.monotonicMs() - startedMs,
    });
    if (event.id === String(eventIds.testEventSent)) {
      const fault = await known.target.ping(signal);
      return ended({ verdict: fault === undefined ? { kind: 'valid' } : { kind: 'failed', error: fault } });
    }
    let url: string | undefined;
    try {
      const segments = targetSegments(known.url.path, event);
      url = `${known.url.origin}${encodedPath(segments)}`;
      return ended({ ...(await this.#sendFile(event, known.target, segments, url, signals)), url });
    } catch (error) {
      signal?.throwIfAborted();
      return ended({ ...failure(error), ...(url !== undefined && { url }) });
    }
  }

  close(): void {
    for (const { target } of this.#targets.values()) target.close();
  }

  async #sendFile(
    event: ServiceEvent,
    target: Target,
    segments: readonly string[],
    url: string,
    { abort: signal, isBackground = false }: Parameters<Sender['send']>[3],
  ): Promise<Pick<Sent, 'verdict' | 'status' | 'reason' | 'file'>> {
    const { means, component } = this.#dependencies;
    const after = this.#afterFor(event);
    const opened = await this.#open(event, after, isBackground);
    // A process sent the file and moved or deleted it, but was killed before it recorded the delivery.
    if (!opened) return { verdict: { kind: 'valid' }, reason: 'sent before' };
    const { file, isMoved } = opened;
    try {
      requireAsTold(event, file);
      const receipt = await target.send(segments, file, event.uuid, signal);
      const { digest, status, reason } = receipt;
      await means.records?.forwarded(event, { component, url, sizeBytes: file.sizeBytes, digest, status });
      const left = after && !isMoved && (await this.#finish(event, file, after));
      return { verdict: { kind: 'valid' }, status, reason, file: recordedFile(event, file, receipt, left || undefined) };
    } finally {
      file.close();
    }
  }

  /**
   * Opens the file of an event. A replay also looks for the file at the path to which an earlier delivery moved it.
   *
   * @returns undefined if the delivery is made in the background, and the file is gone after an earlier delivery sent it
   * @throws ServiceError `not-found` if the file is gone in any other case
   */
  async #open(
    event: ServiceEvent,
    after: AfterSending | undefined,
    isBackground: boolean,
  ): Promise<{ file: ForwardedFile; isMoved: boolean } | undefined> {
    const { means, component } = this.#dependencies;
    try {
      return { file: means.open(event), isMoved: false };
    } catch (error) {
      if (!isServiceError(error, 'not-found')) throw error;
      if (!isBackground && after?.kind === 'move') return { file: means.open(event, after.segments), isMoved: true };
      if (isBackground && (await means.records?.wasForwarded(event, component.uuid))) return undefined;
      throw error;
    }
  }

  #afterFor(event: ServiceEvent): AfterSending | undefined {
    if (this.#after === 'keep') return undefined;
    return this.#after === 'delete' ? { kind: 'delete' } : { kind: 'move', segments: targetSegments(this.#after.path, event) };
  }

  /** @returns the reason why the file stays in its place; undefined if it was moved or deleted */
  async #finish(event: ServiceEvent, file: ForwardedFile, after: AfterSending): Promise<string | undefined> {
    const { means, component } = this.#dependencies;
    try {
      await means.records?.finish(event, file, after, component);
      return undefined;
    } catch (error) {
      // The error `not-durable` means that the file was moved or deleted. A separate event reports that a power cut may undo this change.
      return isServiceError(error, 'not-durable') ? undefined : (error as Error).message;
    }
  }
}

/** Refuses a file whose size differs from the size in its event. @throws FileChanged */
function requireAsTold({ id, data }: ServiceEvent, { sizeBytes }: ForwardedFile): void {
  const toldBytes = Number(data.total_write ?? sizeBytes);
  // The event of an SFTP upload counts the bytes that were written. These may be only a part of the file.
  const fits = id === String(eventIds.sftpFileUploaded) ? sizeBytes >= toldBytes : sizeBytes === toldBytes;
  if (!fits) throw new FileChanged(`it has ${sizeBytes} bytes, not the ${toldBytes} that were uploaded`);
}

function recordedFile(
  { data }: ServiceEvent,
  { sizeBytes }: ForwardedFile,
  { digest }: TargetReceipt,
  left: string | undefined,
): RecordedFile {
  return { path: String(data.path), size: sizeBytes, digest, ...(left !== undefined && { after: left }) };
}

/**
 * Returns the outcome for a file that was not sent. If the file has changed or is gone, or its name is invalid, the delivery is discarded,
 * because a retry would fail, too.
 */
function failure(error: unknown): Pick<Sent, 'verdict' | 'status' | 'reason' | 'headers' | 'reply'> {
  if (error instanceof FileChanged) return discarded(error.message, { code: 'file-changed', value: '' });
  if (error instanceof TargetRefusal) {
    const { message, reply, askedWaitMs, fault } = error;
    const verdict = { kind: 'failed' as const, error: message, askedWaitMs, fault };
    return { verdict, headers: reply?.headers ?? [], ...(reply && { status: reply.status, reason: reply.reason, reply }) };
  }
  if (isServiceError(error, 'not-found')) return discarded('the file is gone', { code: 'file-gone', value: '' });
  if (isServiceError(error, 'name-invalid')) return discarded(error.message);
  return { headers: [], verdict: { kind: 'failed', error: error instanceof ServiceError ? error.message : String(error) } };
}

function discarded(reason: string, fault?: DeliveryFault): ReturnType<typeof failure> {
  return { headers: [], verdict: { kind: 'discarded', error: `the file was not sent: ${reason}`, fault } };
}
