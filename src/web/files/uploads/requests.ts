import { metadataHeader } from '../metadata.ts';
import { reasonFor, scriptHeaders } from '../server.ts';
import type { Upload } from './upload.ts';
import { uploadPath } from './upload-state.ts';

/** Pauses before a lost connection is tried again, in seconds; the last one again and again. */
const pauseSeconds = [0.5, 1, 2, 4, 8, 16, 30] as const;

/**
 * Waits before a retry: longer each time, and at random, so that uploads do not all return to a recovering service at once.
 * The browser's `online` event ends it. @param failures attempts so far
 */
export function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  const seconds = pauseSeconds[Math.min(failures, pauseSeconds.length - 1)] ?? 0;
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, seconds * (750 + 500 * Math.random()));
    window.addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}

/** Why an upload was refused, for people. */
export interface Refused {
  reason: string;
  /** Whether another attempt would be refused as well. */
  isFinal?: boolean;
}

/** `held`: it came, and an inspection holds it for review (docs/spec/inspections.md#what-clients-hear). */
export type Sent = 'done' | 'held' | 'conflict' | 'signed-out' | 'stopped' | Refused;

/** Statuses of a busy service or a proxy without one: retrying may help. */
export const passing: readonly number[] = [408, 502, 503, 504];

/** Statuses that another attempt with the same file and rights has, too. */
const final: readonly number[] = [400, 403, 405, 413, 414, 415, 422];

/** Time without progress, or without an answer, after which the connection counts as dead. */
const stallMs = 60_000;

const commonHeaders = { accept: 'application/json', ...scriptHeaders };

/** URL path under which an upload is stored. */
export function uploadUrl(upload: Upload): string {
  return upload.home + uploadPath(upload).split('/').map(encodeURIComponent).join('/');
}

/**
 * Headers of the request that begins an upload. `If-None-Match: *` makes the service refuse a taken name, so that nobody's file
 * is overwritten (RFC 9110 §13.1.2).
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

/** Why a request with a file was refused. */
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

/** Sends a request without a body. @returns undefined when there was no answer */
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
 * Sends content by XMLHttpRequest, as fetch() tells no progress of a body.
 * @param onProgress called with the bytes sent
 * @returns undefined when the connection was lost, or `signal` ended it
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
  // Once all has left, the service may take its time.
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
