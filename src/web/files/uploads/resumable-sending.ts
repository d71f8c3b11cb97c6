import { text } from '../language.ts';
import { claim, discardUpload, keepUpload, letGo } from './kept-uploads.ts';
import { ask, fileHeaders, pauseAfter, readRefusal, type Sent, sendContent, uploadUrl } from './requests.ts';
import { isReadable, isResumable, type Upload } from './upload.ts';

/**
 * Sends one file, or goes on with it.
 *
 * @param onChange called as bytes leave, and when anything else that can be seen changes
 */
export function sendFile(upload: Upload, onChange: () => void): Promise<Sent> {
  const controller = new AbortController();
  upload.stop = () => controller.abort();
  if (isResumable(upload)) return new ResumableSending(upload, controller.signal, onChange).run();
  return put(upload, controller.signal, onChange);
}

async function put(upload: Upload, signal: AbortSignal, onChange: () => void): Promise<Sent> {
  upload.sentBytes = 0;
  const request = await sendContent('PUT', uploadUrl(upload), fileHeaders(upload), upload.file, signal, (bytes) => {
    upload.sentBytes = bytes;
    onChange();
  });
  if (!request) return signal.aborted ? 'stopped' : diagnose(upload);
  const { status } = request;
  return status === 201 || status === 200 || status === 204 ? 'done' : readRefusal(status, request.responseText);
}

// A refusal that comes while the body is still on its way can be lost with the connection: ask again, without a body.
async function diagnose(upload: Upload): Promise<Sent> {
  if (!(await isReadable(upload.file))) return { reason: text('fileChanged') };
  const reply = await ask('HEAD', uploadUrl(upload));
  if (reply?.status === 401) return 'signed-out';
  if (reply?.ok && upload.onConflict !== 'overwrite') return 'conflict';
  return { reason: text('noConnection') };
}

/** The outcome of a request: the offset, the end of the upload, no answer, or an upload that the service has forgotten. */
type Step = number | Sent | 'lost' | 'gone';

/** Restarts from the beginning, after the service has forgotten the upload. */
const maxRestarts = 3;

/** Statuses of a busy service or a proxy without one: retrying may help. */
const passing: readonly number[] = [408, 502, 503, 504];

/** Sends a file in as many requests as it takes: each goes on where the one before ended (docs/spec/uploads.md). */
export class ResumableSending {
  readonly #upload: Upload;
  readonly #signal: AbortSignal;
  readonly #onChange: () => void;
  /** Where to go on; undefined while that has to be asked. */
  #offset: number | undefined;
  /** Bytes that one request may bring. */
  #requestBytes = Number.POSITIVE_INFINITY;

  constructor(upload: Upload, signal: AbortSignal, onChange: () => void) {
    this.#upload = upload;
    this.#signal = signal;
    this.#onChange = onChange;
  }

  async run(): Promise<Sent> {
    const upload = this.#upload;
    // Another tab continues this one.
    if (upload.location !== undefined && !(await claim(upload.location))) upload.location = undefined;
    let failures = 0;
    let restarts = 0;
    let farthest = -1;
    while (!this.#signal.aborted) {
      const step = await this.#next();
      if (this.#signal.aborted) break;
      if (step === 'lost') await this.#reconnect(failures++);
      else if (step === 'gone') {
        letGo(upload);
        this.#offset = undefined;
        if (++restarts > maxRestarts) return { reason: text('refused', { status: '404' }) };
        upload.remark = text('begunAnew');
      } else if (typeof step === 'number') {
        if (step > farthest) failures = 0;
        farthest = Math.max(step, farthest);
        this.#goTo(step);
      } else {
        if (step === 'done' || step === 'conflict') letGo(upload);
        return step;
      }
    }
    return 'stopped';
  }

  #next(): Promise<Step> {
    const { location } = this.#upload;
    if (location === undefined) return this.#begin();
    return this.#offset === undefined ? this.#find(location) : this.#append(location, this.#offset);
  }

  // Not ended by the signal: cancelling needs the location.
  async #begin(): Promise<Step> {
    const upload = this.#upload;
    const headers = { ...fileHeaders(upload), 'upload-complete': '?0', 'upload-length': String(upload.file.size) };
    const reply = await ask('PUT', uploadUrl(upload), headers);
    if (!reply) return 'lost';
    const body = await reply.text().catch(() => '');
    const location = reply.headers.get('location');
    if (reply.status !== 201 || location === null) return passing.includes(reply.status) ? 'lost' : readRefusal(reply.status, body);
    this.#noteLimit(reply);
    upload.location = location;
    keepUpload(upload);
    await claim(location);
    return 0;
  }

  // GET, as HEAD does not say why an upload came to nothing.
  async #find(location: string): Promise<Step> {
    const reply = await ask('GET', location);
    if (!reply || passing.includes(reply.status)) return 'lost';
    if (reply.status === 404) return 'gone';
    if (!reply.ok) {
      if (reply.status === 410) letGo(this.#upload);
      return readRefusal(reply.status, await reply.text().catch(() => ''));
    }
    this.#noteLimit(reply);
    return reply.headers.get('upload-complete') === '?1' ? 'done' : Number(reply.headers.get('upload-offset'));
  }

  async #append(location: string, offset: number): Promise<Step> {
    const upload = this.#upload;
    const { file } = upload;
    const endBytes = Math.min(file.size, offset + this.#requestBytes);
    const content = file.slice(offset, endBytes);
    if (!(await isReadable(content))) {
      void discardUpload(upload);
      return { reason: text('fileChanged') };
    }
    const headers = {
      'content-type': 'application/partial-upload',
      'upload-offset': String(offset),
      'upload-complete': endBytes === file.size ? '?1' : '?0',
    };
    const request = await sendContent('PATCH', location, headers, content, this.#signal, (bytes) => {
      upload.sentBytes = offset + bytes;
      this.#onChange();
    });
    return request ? this.#outcomeOf(request) : 'lost';
  }

  #outcomeOf(request: XMLHttpRequest): Step {
    const { status } = request;
    const isOver = request.getResponseHeader('upload-complete') === '?1';
    const offset = request.getResponseHeader('upload-offset');
    if (isOver && status === 201) return 'done';
    if (!isOver && offset !== null && (status === 204 || status === 409)) return Number(offset);
    if (passing.includes(status)) return 'lost';
    if (status === 404) return 'gone';
    if (isOver) letGo(this.#upload);
    return readRefusal(status, request.responseText);
  }

  async #reconnect(failures: number): Promise<void> {
    const upload = this.#upload;
    this.#offset = undefined;
    upload.isReconnecting = true;
    this.#onChange();
    await pauseAfter(failures, this.#signal);
    upload.isReconnecting = false;
    this.#onChange();
  }

  #goTo(offset: number): void {
    const upload = this.#upload;
    this.#offset = offset;
    upload.foundBytes += Math.max(0, offset - upload.sentBytes);
    upload.sentBytes = offset;
    this.#onChange();
  }

  #noteLimit({ headers }: Response): void {
    const limit = /\bmax-append-size=(\d+)/.exec(headers.get('upload-limit') ?? '')?.[1];
    this.#requestBytes = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
  }
}
