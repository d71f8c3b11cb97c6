import { previewKind, type Row, rowLink, whenRowIsWritten } from '../rows/rows.ts';

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
    const { makeThumbnail } = await import('./thumbnail-of.ts');
    const thumbnail = await makeThumbnail(row);
    if (!thumbnail) return;
    thumbnail.className = 'thumbnail';
    rowLink(row).prepend(thumbnail);
  } catch {
    // A file that is no picture or film keeps its icon.
  }
}

/** Puts thumbnails into the rows of pictures and films that come into sight. */
export function startThumbnails(): void {
  observer.disconnect();
  waiting.clear();
  const watch = (row: Row) => {
    if (['image', 'video'].includes(previewKind(row) ?? '') && !known.has(row)) observer.observe(row);
  };
  whenRowIsWritten(watch);
}
