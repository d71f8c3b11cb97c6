import { make } from '../../shared/dom.ts';
import { scriptHeaders } from '../server.ts';
import { headBytes, type PictureHead, pictureHead } from './picture-head.ts';
import { keepThumbnail, keptThumbnail } from './thumbnail-cache.ts';

/** A picture or film that has a thumbnail. */
export interface Pictured {
  /** URL path of the file. */
  url: string;
  kind: string | undefined;
  sizeBytes: number;
  /** In whole seconds of Unix time. */
  modified: number;
  /** Link of the file, where the thumbnail goes. */
  link: HTMLElement;
}

/** Longer side of a thumbnail, in pixels: a tile on a screen of double density. */
const longest = 320;

/** The size of a thumbnail; small pictures keep theirs. */
function smallSize(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, longest / Math.max(width, height));
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** Draws a picture small, turned as its camera says. @throws when it is no picture that the browser reads */
async function drawSmall(content: Blob, head: PictureHead, isTurned: boolean): Promise<HTMLCanvasElement> {
  const { width, height } = smallSize(head.width, head.height);
  // The browser rotates whole pictures itself; the embedded thumbnail has no orientation of its own.
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

// Some cameras put bars around their thumbnails; only the middle with the proportions of the picture is shown.
function drawCropped(context: CanvasRenderingContext2D, picture: ImageBitmap, width: number, height: number): void {
  const scale = Math.min(picture.width / width, picture.height / height);
  const [cutWidth, cutHeight] = [width * scale, height * scale];
  const [x, y] = [(picture.width - cutWidth) / 2, (picture.height - cutHeight) / 2];
  context.drawImage(picture, x, y, cutWidth, cutHeight, 0, 0, width, height);
}

/** Rotates what will be drawn (Exif 2.32, tag 0x0112). `width`, `height`: as stored. */
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

/** How long a film may take to show a frame, in milliseconds. */
const patienceMs = 15_000;

/** Position of the frame, in seconds: films often begin with black. */
const frameAt = 3;

/** Draws a frame of a film; the browser fetches only what it needs. @returns undefined when the film cannot be read or shown */
async function drawPoster(url: string): Promise<HTMLCanvasElement | undefined> {
  // The browser itself requests the film, and its own password dialog would block the page.
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

/** @throws when the film fails, or takes too long */
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

/** Limits in bytes and pixels of pictures without a thumbnail of their own, which are fetched whole: larger ones would fill the memory. */
const maxBytes = 8_000_000;
const maxPixels = 25_000_000;

/** A thumbnail of a picture, or of a frame of a film; undefined without either. @throws if the browser cannot read it */
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
 * Draws a picture small. @param read its first bytes, or all of it without a number; undefined when there is nothing to be read
 * @returns undefined for what is no picture, or too large a one
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

/** Reads a file of the service for `drawPicture`. Not by `send`: a thumbnail is no reason to ask for a password. */
export async function readPart(url: string, firstBytes?: number): Promise<Blob | undefined> {
  const range = firstBytes !== undefined && { range: `bytes=0-${firstBytes - 1}` };
  const reply = await fetch(`${url}?inline`, { headers: { ...scriptHeaders, ...range } });
  return reply.ok ? reply.blob() : undefined;
}
