import { previewKind, rowLink, rowMember, whenRowIsWritten } from '../rows/rows.ts';
import { memberUrl } from '../server.ts';
import type { Pictured } from './thumbnail-of.ts';

const atOnce = 6;

/** The files whose thumbnails have not been started, by their rows. */
const known = new WeakMap<Element, Pictured>();
/** The files in `known` whose rows are in view. */
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
    // A file that is not a valid picture or film keeps its icon.
  }
}

/** Stops watching the rows of the previous page. */
export function forgetRows(): void {
  observer.disconnect();
  waiting.clear();
}

function watchForThumbnail(row: Element, pictured: Pictured): void {
  if (pictured.kind !== 'image' && pictured.kind !== 'video') return;
  known.set(row, pictured);
  observer.observe(row);
}

/** Adds thumbnails to the rows of the current folder. */
export function startThumbnails(): void {
  forgetRows();
  // If a link limits the downloads, a thumbnail counts as one of them.
  if (document.querySelector('[data-left]')) return;
  whenRowIsWritten((row) => {
    const { name, isFolder, folder, sizeBytes, modified } = rowMember(row);
    const url = memberUrl(name, isFolder, folder);
    watchForThumbnail(row, { sizeBytes, modified, url, kind: previewKind(row), link: rowLink(row) });
  });
}
