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
  return (isResumable(upload) ? sendInParts : put)(upload, controller.signal, onChange);
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
async function sendInParts(upload: Upload, signal: AbortSignal, onChange: () => void): Promise<Sent> {
  const { file } = upload;
  /** Where to go on; undefined while that has to be asked. */
  let offset: number | undefined;
  /** Bytes that one request may bring. */
  let requestBytes = Number.POSITIVE_INFINITY;

  const noteLimit = ({ headers }: Response) => {
    requestBytes = Number(/\bmax-append-size=(\d+)/.exec(headers.get('upload-limit') ?? '')?.[1] ?? Number.POSITIVE_INFINITY);
  };

  // Not ended by the signal: cancelling needs the location.
  const begin = async (): Promise<Step> => {
    const headers = { ...fileHeaders(upload), 'upload-complete': '?0', 'upload-length': String(file.size) };
    const reply = await ask('PUT', uploadUrl(upload), headers);
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
    const reply = await ask('GET', location);
    if (!reply || passing.includes(reply.status)) return 'lost';
    if (reply.status === 404) return 'gone';
    if (!reply.ok) {
      if (reply.status === 410) letGo(upload);
      return readRefusal(reply.status, await reply.text().catch(() => ''));
    }
    noteLimit(reply);
    return reply.headers.get('upload-complete') === '?1' ? 'done' : Number(reply.headers.get('upload-offset'));
  };

  const append = async (location: string, from: number): Promise<Step> => {
    const endBytes = Math.min(file.size, from + requestBytes);
    const content = file.slice(from, endBytes);
    if (!(await isReadable(content))) {
      void discardUpload(upload);
      return { reason: text('fileChanged') };
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
    if (isOver && status === 201) return 'done';
    if (!isOver && told !== null && (status === 204 || status === 409)) return Number(told);
    if (passing.includes(status)) return 'lost';
    if (status === 404) return 'gone';
    if (isOver) letGo(upload);
    return readRefusal(status, request.responseText);
  };

  const reconnect = async (failures: number) => {
    offset = undefined;
    upload.isReconnecting = true;
    onChange();
    await pauseAfter(failures, signal);
    upload.isReconnecting = false;
    onChange();
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
      upload.remark = text('begunAnew');
    } else if (typeof step === 'number') {
      if (step > farthest) failures = 0;
      farthest = Math.max(step, farthest);
      goTo(step);
    } else {
      if (step === 'done' || step === 'conflict') letGo(upload);
      return step;
    }
  }
  return 'stopped';
}
