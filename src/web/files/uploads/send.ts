import { text } from '../language.ts';
import { ask, fileHeaders, refusalOf, type Sent, sendContent, urlOf } from './requests.ts';
import { ResumableSending } from './resumable-sending.ts';
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
  const request = await sendContent('PUT', urlOf(upload), fileHeaders(upload), upload.file, signal, (bytes) => {
    upload.sentBytes = bytes;
    onChange();
  });
  if (!request) return signal.aborted ? 'stopped' : diagnose(upload);
  const { status } = request;
  return status === 201 || status === 200 || status === 204 ? 'done' : refusalOf(status, request.responseText);
}

// A refusal that comes while the body is still on its way can be lost with the connection: ask again, without a body.
async function diagnose(upload: Upload): Promise<Sent> {
  if (!(await isReadable(upload.file))) return { reason: text('fileChanged') };
  const reply = await ask('HEAD', urlOf(upload));
  if (reply?.status === 401) return 'signed-out';
  if (reply?.ok && upload.onConflict !== 'overwrite') return 'conflict';
  return { reason: text('noConnection') };
}
