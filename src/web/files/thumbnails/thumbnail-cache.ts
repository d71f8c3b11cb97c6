import { make } from '../../shared/dom.ts';

const cacheName = 'svc-thumbnails';

/** More are not kept: all of them are forgotten then. */
const maxKept = 3000;

/** Browsers keep nothing for the pages of a service that is reached by plain http. */
const openCache = async () => ('caches' in window ? caches.open(cacheName) : undefined);

/** A thumbnail that was drawn before. @param name URL that changes with the file */
export async function keptThumbnail(name: string): Promise<HTMLCanvasElement | undefined> {
  const kept = await (await openCache())?.match(name);
  if (!kept) return undefined;
  const picture = await createImageBitmap(await kept.blob());
  const canvas = make('canvas', { width: picture.width, height: picture.height });
  canvas.getContext('2d')?.drawImage(picture, 0, 0);
  picture.close();
  return canvas;
}

/** Keeps a thumbnail for the next visit. */
export function keepThumbnail(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => void (blob && keep(name, blob).catch(forgetThumbnails)), 'image/webp', 0.8);
}

async function keep(name: string, blob: Blob): Promise<void> {
  const cache = await openCache();
  if (cache && (await cache.keys()).length >= maxKept) await forgetThumbnails();
  await (await openCache())?.put(name, new Response(blob));
}

/** Forgets all thumbnails: who comes after the reader sees none. */
export async function forgetThumbnails(): Promise<void> {
  if ('caches' in window) await caches.delete(cacheName);
}
