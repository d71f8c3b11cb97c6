import { metadataHeader } from '../metadata.ts';
import { reasonFor, scriptHeaders } from '../server.ts';
import { type Upload, uploadPath } from './upload.ts';

/** Pauses in seconds before a lost connection is tried again. The last one is used repeatedly. */
const pauseSeconds = [0.5, 1, 2, 4, 8, 16, 30] as const;

/**
 * Waits before a retry. The pauses grow, and they are random, so that uploads do not all return to a recovering service at the same time.
 * The browser's `online` event ends the pause.
 *
 * @param failures number of failed attempts so far
 */
export function pauseAfter(failures: number, signal?: AbortSignal): Promise<void> {
  const seconds = pauseSeconds[Math.min(failures, pauseSeconds.length - 1)] ?? 0;
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, seconds * (750 + 500 * Math.random()));
    window.addEventListener('online', end);
    signal?.addEventListener('abort', end);
  });
}

export interface Refused {
  reason: string;
  isFinal?: boolean;
}

/**
 * The result of sending. `held` means that the file arrived and an inspection holds it for review
 * (docs/spec/inspections.md#replies-to-clients).
 */
export type Sent = 'done' | 'held' | 'conflict' | 'signed-out' | 'stopped' | Refused;

/** The page with the account's uploads that wait for review. Visitors who came through a shared link cannot use it. */
export const heldPage = '/home/__svc__/held/';
export const hasAccount = () => location.pathname.startsWith('/home/');

/** Statuses of a busy service, or of a proxy that cannot reach the service. A retry can help. */
export const passing: readonly number[] = [408, 502, 503, 504];

/** Statuses that a retry with the same file and rights would receive again. */
const final: readonly number[] = [400, 403, 405, 413, 414, 415, 422];

/**
 * The connection counts as lost if a body makes no progress, or a request without a body gets no answer, for this time in milliseconds.
 */
const stallMs = 60_000;

const commonHeaders = { accept: 'application/json', ...scriptHeaders };

/** Returns the URL path at which an upload is stored. */
export function uploadUrl(upload: Upload): string {
  return upload.home + uploadPath(upload).split('/').map(encodeURIComponent).join('/');
}

/**
 * Returns the headers of the request that begins an upload. With `If-None-Match: *` the service refuses a name that is taken, so that no
 * file is overwritten by mistake (RFC 9110 §13.1.2).
 */
export function fileHeaders(upload: Upload): Record<string, string> {
  const { file, onConflict } = upload;
  const metadata = metadataHeader(upload);
  return {
    ...(file.lastModified > 0 && { 'x-oc-mtime': String(Math.floor(file.lastModified / 1000)) }),
    ...(metadata && { [metadata[0]]: metadata[1] }),
    ...(onConflict !== 'overwrite' && { 'if-none-match': '*' }),
  };
}

/** Returns the result of a refused request with a file. */
export function readRefusal(status: number, body: string): Sent {
  if (status === 412) return 'conflict';
  if (status === 401) return 'signed-out';
  return { reason: reasonFor(status, messageIn(body)), isFinal: final.includes(status) };
}

function messageIn(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { errors: { message: string }[] }).errors[0]?.message;
  } catch {
    return undefined;
  }
}

/** Sends a request without a body. @returns undefined if there was no answer */
export async function tryRequest(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response | undefined> {
  try {
    return await fetch(url, { method, headers: { ...commonHeaders, ...headers }, signal: AbortSignal.timeout(stallMs) });
  } catch {
    return undefined;
  }
}

/**
 * Sends content with XMLHttpRequest, because fetch() does not report the progress of a body.
 * @param onProgress called with the number of bytes sent
 * @returns undefined if the connection was lost or `signal` was aborted
 */
export function sendContent(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  content: Blob,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<XMLHttpRequest | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  const request = new XMLHttpRequest();
  const abort = () => request.abort();
  let stalled: ReturnType<typeof setTimeout> | undefined;
  // Once all bytes are sent, the service may take any time to answer.
  const watch = (leftBytes: number) => {
    clearTimeout(stalled);
    if (leftBytes > 0) stalled = setTimeout(abort, stallMs);
  };
  return new Promise<XMLHttpRequest | undefined>((resolve) => {
    request.open(method, url);
    for (const [name, value] of Object.entries({ ...commonHeaders, ...headers })) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => {
      watch(total - loaded);
      onProgress(Math.min(loaded, content.size));
    };
    request.onabort = () => resolve(undefined);
    request.onerror = () => resolve(undefined);
    request.onload = () => resolve(request);
    signal.addEventListener('abort', abort);
    watch(content.size);
    request.send(content);
  }).finally(() => {
    clearTimeout(stalled);
    signal.removeEventListener('abort', abort);
  });
}
