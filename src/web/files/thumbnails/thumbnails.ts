import { previewKind, rowLink, rowMember, whenRowIsWritten } from '../rows/rows.ts';
import type { Pictured } from './thumbnail-of.ts';

/** Pictures and films that are fetched at the same time. */
const atOnce = 6;

/** By the row that has to come into sight; once its thumbnail is fetched it is not there. */
const known = new WeakMap<Element, Pictured>();
const waiting = new Map<Element, Pictured>();
let running = 0;

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      const pictured = known.get(target);
      if (isIntersecting && pictured) waiting.set(target, pictured);
      else waiting.delete(target);
    }
    next();
  },
  { rootMargin: '200px' },
);

function next(): void {
  for (const [row, pictured] of waiting) {
    if (running >= atOnce) return;
    waiting.delete(row);
    known.delete(row);
    observer.unobserve(row);
    running++;
    void show(pictured).finally(() => {
      running--;
      next();
    });
  }
}

async function show(pictured: Pictured): Promise<void> {
  try {
    const { makeThumbnail } = await import('./thumbnail-of.ts');
    const thumbnail = await makeThumbnail(pictured);
    if (!thumbnail) return;
    thumbnail.className = 'thumbnail';
    pictured.link.prepend(thumbnail);
  } catch {
    // A file that is no picture or film keeps its icon.
  }
}

/** Begins with the rows of a new page. */
export function forgetRows(): void {
  observer.disconnect();
  waiting.clear();
}

/** Puts a thumbnail into a row once that comes into sight, if it is of a picture or film. */
export function watchForThumbnail(row: Element, pictured: Pictured): void {
  if (pictured.kind !== 'image' && pictured.kind !== 'video') return;
  known.set(row, pictured);
  observer.observe(row);
}

/** Puts thumbnails into the rows of the folder that is shown. */
export function startThumbnails(): void {
  forgetRows();
  whenRowIsWritten((row) => {
    const link = rowLink(row);
    watchForThumbnail(row, { ...rowMember(row), url: link.pathname, kind: previewKind(row), link });
  });
}
