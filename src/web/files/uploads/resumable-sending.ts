import { text } from '../language.ts';
import { claim, discardUpload, keepUpload, letGo } from './kept-uploads.ts';
import {
  fileHeaders,
  hasAccount,
  heldPage,
  passing,
  pauseAfter,
  readRefusal,
  type Sent,
  sendContent,
  tryRequest,
  uploadUrl,
} from './requests.ts';
import { isReadable, isResumable, type Upload } from './upload.ts';
import { uploadText } from './upload-text.ts';

/**
 * Sends a file, or the rest of a file that was sent in part.
 *
 * @param onChange called when bytes were sent, and after other visible changes
 */
export function sendFile(upload: Upload, onChange: () => void): Promise<Sent> {
  const controller = new AbortController();
  upload.stop = () => controller.abort();
  return (isResumable(upload) ? sendInParts : put)(upload, controller.signal, onChange);
}

/**
 * If the connection breaks this many times although the service is reachable, the upload fails, because a proxy probably refuses the
 * content.
 */
const maxBroken = 5;

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
      upload.eventId = readEventId(request);
      if (status === 202) return heldBy(upload, request.getResponseHeader('location'));
      return status === 201 || status === 200 || status === 204 ? 'done' : readRefusal(status, request.responseText);
    }
    if (!(await isReadable(file))) return { reason: uploadText('fileChanged'), isFinal: true };
    // If the connection breaks before the whole body is sent, the browser also loses a reply that has already arrived. So another request,
    // without a body, finds out the result.
    const reply = request ?? (await tryRequest('HEAD', uploadUrl(upload)));
    if (reply?.status === 401) return 'signed-out';
    if (reply instanceof Response && reply.ok && isSame(reply, file)) return 'done';
    if (reply instanceof Response && reply.ok && upload.onConflict !== 'overwrite') return 'conflict';
    if (reply && !passing.includes(reply.status) && ++broken >= maxBroken) return { reason: text('noConnection') };
    await waitForConnection(upload, failures, signal, onChange);
    if (signal.aborted) return 'stopped';
  }
}

function readEventId(request: XMLHttpRequest): string | undefined {
  return request.getResponseHeader('event-id') ?? undefined;
}

/** Notes where to ask for the verdict. Links of visitors have no such place. */
function heldBy(upload: Upload, url: string | null): 'held' {
  upload.heldAt = url?.startsWith(heldPage) && hasAccount() ? url : undefined;
  return 'held';
}

/** Returns whether the service stores the sent file, so that only the reply was lost. */
export function isSame({ headers }: Response, { size, lastModified }: File): boolean {
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

/** The result of a request: the next offset, or the end of the upload. `lost`: no answer. `gone`: the service has removed the upload. */
type Step = number | Sent | 'lost' | 'gone';

/**
 * Sizes of requests, in bytes, if a proxy holds back the content. The smaller size is used after another loss. The requests are small,
 * because only the content of completed requests is certain to be stored.
 */
const largestPiece = 16 * 1024 * 1024;
const smallestPiece = 8 * 1024 * 1024;

/**
 * Number of bytes that can be on their way to the service's disk when a connection is lost. A larger loss means that a proxy held back the
 * content.
 */
const keptBackBytes = 12 * 1024 * 1024;

/** Maximum number of restarts after the service has removed the upload. */
const maxRestarts = 3;

/** Sends a file in several requests. Each one continues where the previous one ended (docs/spec/uploads.md). */
async function sendInParts(upload: Upload, signal: AbortSignal, onChange: () => void): Promise<Sent> {
  const { file } = upload;
  /** The offset at which to continue; undefined until the service has been asked for it. */
  let offset: number | undefined;
  let requestBytes = Number.POSITIVE_INFINITY;
  /**
   * Maximum number of bytes of one request after a loss has shown that a proxy holds back the content. Some proxies do so until a request
   * is complete.
   */
  let pieceBytes = Number.POSITIVE_INFINITY;
  let lostAt = 0;

  const noteLimit = ({ headers }: Response) => {
    requestBytes = Number(/\bmax-append-size=(\d+)/.exec(headers.get('upload-limit') ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
  };

  // The signal does not abort this request, because the location in the reply is needed to cancel the upload.
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

  // Asks for the offset at which to continue. It uses GET, because the reply to HEAD does not contain the reason of a failed upload.
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
    const held = reply.headers.get('held');
    return held === null ? 'done' : heldBy(upload, `${heldPage}${held}`);
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
    return request ? readStep(request) : 'lost';
  };

  const readStep = (request: XMLHttpRequest): Step => {
    const { status } = request;
    const isOver = request.getResponseHeader('upload-complete') === '?1';
    const told = request.getResponseHeader('upload-offset');
    upload.eventId = readEventId(request);
    if (isOver && status === 201) return 'done';
    if (isOver && status === 202) return heldBy(upload, request.getResponseHeader('location'));
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
