import { make } from '../../shared/dom.ts';
import { kindOf } from '../file-kind.ts';
import { linkOf, type Row } from '../rows/rows.ts';
import { scriptHeaders } from '../server.ts';
import { drawSmall, smallSize } from './draw.ts';
import { headBytes, pictureHead } from './picture-head.ts';
import { keepThumbnail, keptThumbnail } from './thumbnail-cache.ts';

/** How long a film may take to show a frame, in milliseconds. */
const patienceMs = 15_000;

/** Where the frame is, in seconds: films often begin in the dark. */
const frameAt = 3;

/**
 * Draws a frame of a film. The browser fetches what it needs for that, mostly the beginning, and no more.
 *
 * @returns undefined when the film may not be read, has no pictures, or is of a kind that the browser does not know
 */
async function drawPoster(url: string): Promise<HTMLCanvasElement | undefined> {
  // A film is asked for by the browser itself, whose own password box would lock the page.
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

/** Pictures without a thumbnail of their own are fetched whole up to this size, in bytes, and read up to so many pixels: more would fill the memory. */
const mostBytes = 8_000_000;
const mostPixels = 25_000_000;

/** A row's picture made small, or a frame of its film; undefined when it has none. @throws when it is none that the browser reads */
export async function thumbnailOf(row: Row): Promise<HTMLCanvasElement | undefined> {
  const name = `${linkOf(row).pathname}?thumbnail=${row.dataset.size}-${row.querySelector<HTMLElement>('[data-time]')?.dataset.time}`;
  const kept = await keptThumbnail(name);
  if (kept) return kept;
  const canvas = kindOf(row) === 'video' ? await drawPoster(linkOf(row).pathname) : await drawPicture(row);
  if (canvas) keepThumbnail(name, canvas);
  return canvas;
}

async function drawPicture(row: Row): Promise<HTMLCanvasElement | undefined> {
  const sizeBytes = Number(row.dataset.size);
  const start = await fetchPart(row, sizeBytes <= headBytes ? undefined : `bytes=0-${headBytes - 1}`);
  const head = start && pictureHead(new Uint8Array(await start.arrayBuffer()));
  if (!head || head.width * head.height === 0) return undefined;
  const isSmall = sizeBytes <= mostBytes && head.width * head.height <= mostPixels;
  const inside = head.thumbnail && new Blob([new Uint8Array(head.thumbnail)], { type: 'image/jpeg' });
  const whole = inside || !isSmall || sizeBytes <= headBytes ? start : await fetchPart(row);
  const content = inside ?? (isSmall ? whole : undefined);
  return content && drawSmall(content, head, !inside);
}

/** Not by `send`: nobody is asked for a password because of a thumbnail. */
async function fetchPart(row: Row, range?: string): Promise<Blob | undefined> {
  const reply = await fetch(`${linkOf(row).pathname}?inline`, { headers: { ...scriptHeaders, ...(range !== undefined && { range }) } });
  return reply.ok ? reply.blob() : undefined;
}
