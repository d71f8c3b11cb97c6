import { text } from '../language.ts';
import { claim, discardUpload, keepUpload, letGo } from './kept-uploads.ts';
import { fileHeaders, passing, pauseAfter, readRefusal, type Sent, sendContent, tryRequest, uploadUrl } from './requests.ts';
import type { Upload } from './upload.ts';
import { isReadable, isResumable } from './upload-state.ts';
import { uploadText } from './upload-text.ts';

/**
 * Sends one file, or goes on with it.
 *
 * @param onChange called as bytes leave, and when anything else that can be seen changes
 */
export function sendFile(upload: Upload, onChange: () => void): Promise<Sent> {
  const controller = new AbortController();
  upload.stop = () => controller.abort();
  return (isResumable(upload) ? sendInParts : put)(upload, controller.signal, onChange);
}

/** Attempts with a connection that breaks each time, while the service answers: something between refuses the content. */
const maxBroken = 5;

/** Sends a small file in one request, and again after each break of the connection. */
async function put(upload: Upload, signal: AbortSignal, onChange: () => void): Promise<Sent> {
  const { file } = upload;
  let broken = 0;
  for (let failures = 0; ; failures++) {
    upload.sentBytes = 0;
    const request = await sendContent('PUT', uploadUrl(upload), fileHeaders(upload), file, signal, (bytes) => {
      upload.sentBytes = bytes;
      onChange();
    });
    if (signal.aborted) return 'stopped';
    if (request && !passing.includes(request.status)) {
      const { status } = request;
      upload.eventId = eventIdOf(request);
      if (status === 202) return 'held';
      return status === 201 || status === 200 || status === 204 ? 'done' : readRefusal(status, request.responseText);
    }
    if (!(await isReadable(file))) return { reason: uploadText('fileChanged'), isFinal: true };
    // A reply that comes while the body is still on its way can be lost with the connection: ask again, without a body.
    const reply = request ?? (await tryRequest('HEAD', uploadUrl(upload)));
    if (reply?.status === 401) return 'signed-out';
    if (reply instanceof Response && reply.ok && isSame(reply, file)) return 'done';
    if (reply instanceof Response && reply.ok && upload.onConflict !== 'overwrite') return 'conflict';
    if (reply && !passing.includes(reply.status) && ++broken >= maxBroken) return { reason: text('noConnection') };
    await waitForConnection(upload, failures, signal, onChange);
    if (signal.aborted) return 'stopped';
  }
}

/** Names the arrival of a file in a receipt; a service tells it to those who have a link. */
function eventIdOf(request: XMLHttpRequest): string | undefined {
  return request.getResponseHeader('event-id') ?? undefined;
}

/** Whether the file of the service is the one that was sent: its reply was lost. */
function isSame({ headers }: Response, { size, lastModified }: File): boolean {
  const modifiedMs = Date.parse(headers.get('last-modified') ?? '');
  return Number(headers.get('content-length')) === size && modifiedMs === Math.floor(lastModified / 1000) * 1000;
}

async function waitForConnection(upload: Upload, failures: number, signal: AbortSignal, onChange: () => void): Promise<void> {
  upload.isReconnecting = true;
  onChange();
  await pauseAfter(failures, signal);
  upload.isReconnecting = false;
  onChange();
}

/** The outcome of a request: the offset, the end of the upload, no answer, or an upload that the service has forgotten. */
type Step = number | Sent | 'lost' | 'gone';

/** Larger and smaller requests of a connection that loses much at a time, in bytes: each that has come counts. */
const largestPiece = 16 * 1024 * 1024;
const smallestPiece = 8 * 1024 * 1024;

/** Bytes that may be on their way when a connection is lost, to the service and to its disk. */
const keptBackBytes = 12 * 1024 * 1024;

/** Restarts from the beginning, after the service has forgotten the upload. */
const maxRestarts = 3;

/** Sends a file in as many requests as it takes: each goes on where the one before ended (docs/spec/uploads.md). */
async function sendInParts(upload: Upload, signal: AbortSignal, onChange: () => void): Promise<Sent> {
  const { file } = upload;
  /** Where to go on; undefined while that has to be asked. */
  let offset: number | undefined;
  /** Bytes that one request may bring. */
  let requestBytes = Number.POSITIVE_INFINITY;
  /** Bytes of a request after something between has kept back what left this device, as some proxies do with whole requests. */
  let pieceBytes = Number.POSITIVE_INFINITY;
  /** Bytes that had left when the connection was lost. */
  let lostAt = 0;

  const noteLimit = ({ headers }: Response) => {
    requestBytes = Number(/\bmax-append-size=(\d+)/.exec(headers.get('upload-limit') ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
  };

  // Not ended by the signal: cancelling needs the location.
  const begin = async (): Promise<Step> => {
    const headers = { ...fileHeaders(upload), 'upload-complete': '?0', 'upload-length': String(file.size) };
    const reply = await tryRequest('PUT', uploadUrl(upload), headers);
    if (!reply || passing.includes(reply.status)) return 'lost';
    const body = await reply.text().catch(() => '');
    const location = reply.headers.get('location');
    if (reply.status !== 201 || location === null) return readRefusal(reply.status, body);
    noteLimit(reply);
    upload.location = location;
    keepUpload(upload);
    await claim(location);
    return 0;
  };

  // GET, as HEAD does not say why an upload came to nothing.
  const find = async (location: string): Promise<Step> => {
    const reply = await tryRequest('GET', location);
    if (!reply || passing.includes(reply.status)) return 'lost';
    if (reply.status === 404) return 'gone';
    if (!reply.ok) {
      if (reply.status === 410) letGo(upload);
      return readRefusal(reply.status, await reply.text().catch(() => ''));
    }
    noteLimit(reply);
    upload.eventId = reply.headers.get('event-id') ?? undefined;
    if (reply.headers.get('upload-complete') !== '?1') return Number(reply.headers.get('upload-offset'));
    return reply.headers.has('held') ? 'held' : 'done';
  };

  const append = async (location: string, from: number): Promise<Step> => {
    const endBytes = Math.min(file.size, from + Math.min(requestBytes, pieceBytes));
    const content = file.slice(from, endBytes);
    if (!(await isReadable(content))) {
      void discardUpload(upload);
      return { reason: uploadText('fileChanged'), isFinal: true };
    }
    const headers = {
      'content-type': 'application/partial-upload',
      'upload-offset': String(from),
      'upload-complete': endBytes === file.size ? '?1' : '?0',
    };
    const request = await sendContent('PATCH', location, headers, content, signal, (bytes) => {
      upload.sentBytes = from + bytes;
      onChange();
    });
    return request ? outcomeOf(request) : 'lost';
  };

  const outcomeOf = (request: XMLHttpRequest): Step => {
    const { status } = request;
    const isOver = request.getResponseHeader('upload-complete') === '?1';
    const told = request.getResponseHeader('upload-offset');
    upload.eventId = eventIdOf(request);
    if (isOver && status === 201) return 'done';
    if (isOver && status === 202) return 'held';
    if (!isOver && told !== null && (status === 204 || status === 409)) return Number(told);
    if (passing.includes(status)) return 'lost';
    if (status === 404) return 'gone';
    if (isOver) letGo(upload);
    return readRefusal(status, request.responseText);
  };

  const reconnect = async (failures: number) => {
    offset = undefined;
    lostAt = upload.sentBytes;
    await waitForConnection(upload, failures, signal, onChange);
  };

  const goTo = (step: number) => {
    offset = step;
    upload.foundBytes += Math.max(0, step - upload.sentBytes);
    upload.sentBytes = step;
    onChange();
  };

  // Another tab continues this one.
  if (upload.location !== undefined && !(await claim(upload.location))) upload.location = undefined;
  let failures = 0;
  let restarts = 0;
  let farthest = -1;
  while (!signal.aborted) {
    const { location } = upload;
    const step = await (location === undefined ? begin() : offset === undefined ? find(location) : append(location, offset));
    if (signal.aborted) break;
    if (step === 'lost') await reconnect(failures++);
    else if (step === 'gone') {
      letGo(upload);
      offset = undefined;
      if (++restarts > maxRestarts) return { reason: text('refused', { status: '404' }) };
      upload.remark = uploadText('begunAnew');
    } else if (typeof step === 'number') {
      if (lostAt - step > keptBackBytes) pieceBytes = pieceBytes > largestPiece ? largestPiece : smallestPiece;
      lostAt = 0;
      if (step > farthest) failures = 0;
      farthest = Math.max(step, farthest);
      goTo(step);
    } else {
      if (step === 'done' || step === 'held' || step === 'conflict') letGo(upload);
      return step;
    }
  }
  return 'stopped';
}
