import { byId } from '../dom.ts';
import { linkOf, type Row, whenRowsChange } from '../rows.ts';
import { scriptHeaders } from '../server.ts';
import { drawSmall } from './draw.ts';
import { pictureHead } from './picture-head.ts';
import { forgetThumbnails, keepThumbnail, keptThumbnail } from './thumbnail-cache.ts';

/** Pictures that are fetched at the same time. */
const atOnce = 6;

/** Bytes in which a picture's size stands, and mostly the thumbnail of its camera. */
const headBytes = 128 * 1024;

/** Pictures without a thumbnail of their own are fetched whole up to this size, in bytes, and read up to so many pixels: more would fill the memory. */
const mostBytes = 8_000_000;
const mostPixels = 25_000_000;

const known = new WeakSet<Row>();
const waiting = new Set<Row>();
let running = 0;

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && !known.has(target as Row)) waiting.add(target as Row);
      else waiting.delete(target as Row);
    }
    next();
  },
  { rootMargin: '200px' },
);

function next(): void {
  for (const row of waiting) {
    if (running >= atOnce) return;
    waiting.delete(row);
    known.add(row);
    observer.unobserve(row);
    running++;
    void show(row).finally(() => {
      running--;
      next();
    });
  }
}

async function show(row: Row): Promise<void> {
  try {
    const name = `${linkOf(row).pathname}?thumbnail=${row.dataset.size}-${row.querySelector<HTMLElement>('[data-time]')?.dataset.time}`;
    const thumbnail = (await keptThumbnail(name)) ?? (await make(row, name));
    if (!thumbnail || !row.isConnected) return;
    thumbnail.className = 'thumbnail';
    linkOf(row).prepend(thumbnail);
  } catch {
    // What is no picture, whatever its name says, keeps its icon.
  }
}

async function make(row: Row, name: string): Promise<HTMLCanvasElement | undefined> {
  const sizeBytes = Number(row.dataset.size);
  const start = await fetchPart(row, sizeBytes <= headBytes ? undefined : `bytes=0-${headBytes - 1}`);
  const head = start && pictureHead(new Uint8Array(await start.arrayBuffer()));
  if (!head || head.width * head.height === 0) return undefined;
  const isSmall = sizeBytes <= mostBytes && head.width * head.height <= mostPixels;
  const inside = head.thumbnail && new Blob([new Uint8Array(head.thumbnail)], { type: 'image/jpeg' });
  const whole = inside || !isSmall || sizeBytes <= headBytes ? start : await fetchPart(row);
  const content = inside ?? (isSmall ? whole : undefined);
  if (!content) return undefined;
  const canvas = await drawSmall(content, head, !inside);
  keepThumbnail(name, canvas);
  return canvas;
}

/** Not by `send`: nobody is asked for a password because of a thumbnail. */
async function fetchPart(row: Row, range?: string): Promise<Blob | undefined> {
  const reply = await fetch(`${linkOf(row).pathname}?inline`, { headers: { ...scriptHeaders, ...(range !== undefined && { range }) } });
  return reply.ok ? reply.blob() : undefined;
}

/** Puts thumbnails into the rows of pictures that come into sight, while the listing is shown as a grid. */
export function startThumbnails(): void {
  observer.disconnect();
  waiting.clear();
  const watch = () => {
    if (!byId('list').classList.contains('grid')) return observer.disconnect();
    for (const row of document.querySelectorAll<Row>('#list tbody tr:has(a.image)')) if (!known.has(row)) observer.observe(row);
  };
  whenRowsChange(watch);
  byId('list').addEventListener('viewchange', watch);
}

/** Has nothing stay in the browser of what an account saw. */
export function forgetThumbnailsAtSignOut(): void {
  document.querySelector('form[action$=logout]')?.addEventListener('submit', () => void forgetThumbnails());
}
