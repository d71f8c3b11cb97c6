import { byId } from '../dom.ts';
import { linkOf, type Row, whenRowsChange } from '../rows.ts';
import { forgetThumbnails } from './thumbnail-cache.ts';

/** Pictures and films that are fetched at the same time. */
const atOnce = 6;

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
    const { thumbnailOf } = await import('./thumbnail-of.ts');
    const thumbnail = await thumbnailOf(row);
    if (!thumbnail || !row.isConnected) return;
    thumbnail.className = 'thumbnail';
    linkOf(row).prepend(thumbnail);
  } catch {
    // What is no picture or film, whatever its name says, keeps its icon.
  }
}

/** Puts thumbnails into the rows of pictures and films that come into sight, while the listing is shown as a grid. */
export function startThumbnails(): void {
  observer.disconnect();
  waiting.clear();
  const watch = () => {
    if (!byId('list').classList.contains('grid')) return observer.disconnect();
    for (const row of document.querySelectorAll<Row>('#list tbody tr:has(a.image, a.video)')) if (!known.has(row)) observer.observe(row);
  };
  whenRowsChange(watch);
  byId('list').addEventListener('viewchange', watch);
}

/** Has nothing stay in the browser of what an account saw. */
export function forgetThumbnailsAtSignOut(): void {
  document.querySelector('form[action$=logout]')?.addEventListener('submit', () => void forgetThumbnails());
}
