import { text } from '../language.ts';
import { metadataHeader } from '../metadata.ts';
import { folderUrl, reasonFor, scriptHeaders } from '../server.ts';
import type { Upload } from './upload.ts';

/** How one attempt to store a file ended. */
export type Sent = 'done' | 'conflict' | 'signed-out' | 'cancelled' | { reason: string };

/** URL path under which an upload is stored. */
function urlOf({ folder, name }: Upload): string {
  const folders = folder === '' ? '' : `${folder.split('/').map(encodeURIComponent).join('/')}/`;
  return folderUrl + folders + encodeURIComponent(name);
}

/**
 * Sends one file. `If-None-Match: *` has the service refuse it when the name is taken, so that nothing is lost even when
 * somebody else was faster (RFC 9110 §13.1.2). fetch() tells no progress of a body, so this is XMLHttpRequest.
 *
 * @param onProgress called as bytes leave
 */
export async function sendFile(upload: Upload, onProgress: () => void): Promise<Sent> {
  const sent = await put(upload, onProgress);
  return sent === 'lost' ? diagnose(upload) : sent;
}

function put(upload: Upload, onProgress: () => void): Promise<Sent | 'lost'> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('PUT', urlOf(upload));
    request.setRequestHeader('accept', 'application/json');
    for (const [name, value] of Object.entries(scriptHeaders)) request.setRequestHeader(name, value);
    if (upload.file.lastModified > 0) request.setRequestHeader('x-oc-mtime', String(Math.floor(upload.file.lastModified / 1000)));
    const metadata = metadataHeader(upload);
    if (metadata) request.setRequestHeader(...metadata);
    if (upload.onConflict !== 'overwrite') request.setRequestHeader('if-none-match', '*');
    request.upload.onprogress = (event) => {
      upload.sentBytes = Math.min(event.loaded, upload.file.size);
      onProgress();
    };
    request.onabort = () => resolve('cancelled');
    request.onerror = () => resolve('lost');
    request.onload = () => resolve(outcomeOf(request));
    upload.cancel = () => request.abort();
    request.send(upload.file);
  });
}

function messageIn(body: string): string | undefined {
  try {
    return (JSON.parse(body) as { errors: { message: string }[] }).errors[0]?.message;
  } catch {
    return undefined;
  }
}

function outcomeOf(request: XMLHttpRequest): Sent {
  if (request.status === 201 || request.status === 200 || request.status === 204) return 'done';
  if (request.status === 412) return 'conflict';
  if (request.status === 401) return 'signed-out';
  return { reason: reasonFor(request.status, messageIn(request.responseText)) };
}

// A refusal that comes while the body is still on its way can be lost with the connection: ask again, without a body.
async function diagnose(upload: Upload): Promise<Sent> {
  try {
    const reply = await fetch(urlOf(upload), { method: 'HEAD', headers: { accept: 'application/json', ...scriptHeaders } });
    if (reply.status === 401) return 'signed-out';
    if (reply.ok && upload.onConflict !== 'overwrite') return 'conflict';
  } catch {
    // The service is out of reach: that is the answer.
  }
  return { reason: text('noConnection') };
}
