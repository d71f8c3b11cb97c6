import type { RemoteFile } from '../remote-file.ts';
import { maxBytes, showText } from './text-preview.ts';

/** Below it are the account's files. */
const root = '/home/';

/** Most texts are there with that. */
export const firstBytes = maxBytes;

/** Shows a file that is a text. @throws Refusal */
export function show(file: RemoteFile, signal: AbortSignal): Promise<HTMLElement> {
  const { name, sizeBytes } = file;
  const place = { url: new URL(file.url, location.href).href, rootUrl: new URL(root, location.href).href };
  return showText({ name, sizeBytes, place, start: (lengthBytes) => file.read(0, lengthBytes) }, signal);
}
