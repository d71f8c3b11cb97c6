import { kindOf } from '../file-kind.ts';
import { linkOf, type Row } from '../rows/rows.ts';
import { scriptHeaders } from '../server.ts';
import { drawSmall } from './draw.ts';
import { headBytes, pictureHead } from './picture-head.ts';
import { drawPoster } from './poster.ts';
import { keepThumbnail, keptThumbnail } from './thumbnail-cache.ts';

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
