import { make } from '../../shared/dom.ts';

const cacheName = 'svc-thumbnails';

/** Maximum number of stored thumbnails. When it is reached, all of them are deleted. */
const maxKept = 3000;

/** Opens the cache; undefined over plain HTTP, where browsers offer no cache. */
const openCache = async () => ('caches' in window ? caches.open(cacheName) : undefined);

/** Returns a stored thumbnail. @param name a URL that changes when the file changes */
export async function keptThumbnail(name: string): Promise<HTMLCanvasElement | undefined> {
  const kept = await (await openCache())?.match(name);
  if (!kept) return undefined;
  const picture = await createImageBitmap(await kept.blob());
  const canvas = make('canvas', { width: picture.width, height: picture.height });
  canvas.getContext('2d')?.drawImage(picture, 0, 0);
  picture.close();
  return canvas;
}

/** Stores a thumbnail for the next visit. */
export function keepThumbnail(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => void (blob && keep(name, blob).catch(forgetThumbnails)), 'image/webp', 0.8);
}

async function keep(name: string, blob: Blob): Promise<void> {
  const cache = await openCache();
  if (cache && (await cache.keys()).length >= maxKept) await forgetThumbnails();
  await (await openCache())?.put(name, new Response(blob));
}

/** Deletes all thumbnails, so that the next user of the browser cannot see them. */
export async function forgetThumbnails(): Promise<void> {
  if ('caches' in window) await caches.delete(cacheName);
}
