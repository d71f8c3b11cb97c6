import { make } from '../../shared/dom.ts';
import { scriptHeaders } from '../server.ts';
import { forgetThumbnails, thumbnailCache } from '../sign-in.ts';
import { headBytes, type PictureHead, pictureHead } from './picture-head.ts';

export interface Pictured {
  /** URL path of the file. */
  url: string;
  kind: string | undefined;
  sizeBytes: number;
  /** Unix time in whole seconds. */
  modified: number;
  link: HTMLElement;
}

/** Length of the longer side of a thumbnail in pixels. It is enough for a tile on a screen with double pixel density. */
const longest = 320;

function smallSize(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, longest / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/**
 * Draws a smaller picture in the orientation that the camera recorded.
 *
 * @param isTurned whether the browser rotates the content itself
 * @throws if the browser cannot read the content as a picture
 */
async function drawSmall(content: Blob, head: PictureHead, isTurned: boolean): Promise<HTMLCanvasElement> {
  const { width, height } = smallSize(head.width, head.height);
  // The browser rotates whole pictures itself. It does not rotate an embedded thumbnail, because that has no orientation tag.
  const options: ImageBitmapOptions = { resizeQuality: 'medium', imageOrientation: 'from-image' };
  const picture = await createImageBitmap(content, options);
  const turns = isTurned ? 1 : head.orientation;
  const isSideways = head.orientation >= 5;
  const canvas = make('canvas', { width: isSideways ? height : width, height: isSideways ? width : height });
  const context = canvas.getContext('2d');
  if (!context) throw new Error('The browser draws nothing.');
  turn(context, turns, width, height);
  if (turns >= 5 || !isSideways) drawCropped(context, picture, width, height);
  else drawCropped(context, picture, height, width);
  picture.close();
  return canvas;
}

// Some cameras add bars to their thumbnails. So only the middle part is drawn, in the proportions of the picture.
function drawCropped(context: CanvasRenderingContext2D, picture: ImageBitmap, width: number, height: number): void {
  const scale = Math.min(picture.width / width, picture.height / height);
  const [cutWidth, cutHeight] = [width * scale, height * scale];
  const [x, y] = [(picture.width - cutWidth) / 2, (picture.height - cutHeight) / 2];
  context.drawImage(picture, x, y, cutWidth, cutHeight, 0, 0, width, height);
}

/** Rotates or mirrors the drawing (Exif 2.32, tag 0x0112). @param width width of the stored picture @param height its height */
function turn(context: CanvasRenderingContext2D, orientation: number, width: number, height: number): void {
  const matrices: Readonly<Record<number, [number, number, number, number, number, number]>> = {
    2: [-1, 0, 0, 1, width, 0],
    3: [-1, 0, 0, -1, width, height],
    4: [1, 0, 0, -1, 0, height],
    5: [0, 1, 1, 0, 0, 0],
    6: [0, 1, -1, 0, height, 0],
    7: [0, -1, -1, 0, height, width],
    8: [0, -1, 1, 0, 0, width],
  };
  const matrix = matrices[orientation];
  if (matrix) context.setTransform(...matrix);
}

const patienceMs = 15_000;

/** Position of the frame in seconds. It is not 0, because films often begin with black frames. */
const frameAt = 3;

async function drawPoster(url: string): Promise<HTMLCanvasElement | undefined> {
  // Check the session first. If it has ended, the browser's request for the film would open a password dialog, which blocks the page.
  const reply = await fetch(url, { method: 'HEAD', headers: scriptHeaders });
  if (!reply.ok) return undefined;
  const film = make('video', { muted: true, preload: 'metadata', src: `${url}?inline` });
  try {
    await happened(film, 'loadedmetadata');
    film.currentTime = Number.isFinite(film.duration) ? Math.min(frameAt, film.duration / 3) : 0;
    await happened(film, 'seeked');
    return draw(film);
  } catch {
    return undefined;
  } finally {
    film.removeAttribute('src');
    film.load();
  }
}

function draw(film: HTMLVideoElement): HTMLCanvasElement | undefined {
  const { videoWidth, videoHeight } = film;
  if (videoWidth * videoHeight === 0) return undefined;
  const canvas = make('canvas', smallSize(videoWidth, videoHeight));
  canvas.getContext('2d')?.drawImage(film, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function happened(film: HTMLVideoElement, type: 'loadedmetadata' | 'seeked'): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(reject, patienceMs);
    const end = (action: () => void) => () => {
      clearTimeout(timer);
      action();
    };
    film.addEventListener(type, end(resolve), { once: true });
    film.addEventListener('error', end(reject), { once: true });
  });
}

/**
 * Limits, in bytes and pixels, of pictures without an embedded thumbnail. They are loaded as a whole, and larger ones would need too much
 * memory.
 */
const maxBytes = 8_000_000;
const maxPixels = 25_000_000;

/**
 * Creates the thumbnail of a picture or film.
 *
 * @returns undefined for other files, and if no thumbnail can be created
 * @throws if the browser cannot read the file
 */
export async function makeThumbnail({ url, kind, sizeBytes, modified }: Pictured): Promise<HTMLCanvasElement | undefined> {
  const name = `${url}?thumbnail=${sizeBytes}-${modified}`;
  const kept = await keptThumbnail(name);
  if (kept) return kept;
  const draw = () => drawPicture(sizeBytes, (firstBytes) => readPart(url, firstBytes));
  const canvas = await (kind === 'video' ? drawPoster(url) : draw());
  if (canvas) keepThumbnail(name, canvas);
  return canvas;
}

/**
 * Draws a smaller picture.
 *
 * @param read reads the first bytes or, without a number, the whole file. Returns undefined if nothing can be read
 * @returns undefined if the file is not a picture or is too large
 */
export async function drawPicture(
  sizeBytes: number,
  read: (firstBytes?: number) => Promise<Blob | undefined>,
): Promise<HTMLCanvasElement | undefined> {
  const start = await read(sizeBytes <= headBytes ? undefined : headBytes);
  const head = start && pictureHead(new Uint8Array(await start.arrayBuffer()));
  if (!head || head.width * head.height === 0) return undefined;
  const isSmall = sizeBytes <= maxBytes && head.width * head.height <= maxPixels;
  const inside = head.thumbnail && new Blob([new Uint8Array(head.thumbnail)], { type: 'image/jpeg' });
  const whole = inside || !isSmall || sizeBytes <= headBytes ? start : await read();
  const content = inside ?? (isSmall ? whole : undefined);
  return content && drawSmall(content, head, !inside);
}

/** Reads a file for `drawPicture`. It does not use `send`, because a thumbnail must not cause a question for the password. */
export async function readPart(url: string, firstBytes?: number): Promise<Blob | undefined> {
  const range = firstBytes !== undefined && { range: `bytes=0-${firstBytes - 1}` };
  const reply = await fetch(`${url}?inline`, { headers: { ...scriptHeaders, ...range } });
  return reply.ok ? reply.blob() : undefined;
}

/** Maximum number of stored thumbnails. When it is reached, all of them are deleted. */
const maxKept = 3000;

/** Opens the cache; undefined over plain HTTP, where browsers offer none, and for visitors of a link, who cannot empty it by signing out. */
const openCache = async () => ('caches' in window && location.pathname.startsWith('/home/') ? caches.open(thumbnailCache) : undefined);

/** Returns a stored thumbnail. @param name a URL that changes when the file changes */
async function keptThumbnail(name: string): Promise<HTMLCanvasElement | undefined> {
  const kept = await (await openCache())?.match(name);
  if (!kept) return undefined;
  const picture = await createImageBitmap(await kept.blob());
  const canvas = make('canvas', { width: picture.width, height: picture.height });
  canvas.getContext('2d')?.drawImage(picture, 0, 0);
  picture.close();
  return canvas;
}

/** Stores a thumbnail for the next visit. */
function keepThumbnail(name: string, canvas: HTMLCanvasElement): void {
  canvas.toBlob((blob) => void (blob && keep(name, blob).catch(forgetThumbnails)), 'image/webp', 0.8);
}

async function keep(name: string, blob: Blob): Promise<void> {
  const cache = await openCache();
  if (cache && (await cache.keys()).length >= maxKept) await forgetThumbnails();
  await (await openCache())?.put(name, new Response(blob));
}
