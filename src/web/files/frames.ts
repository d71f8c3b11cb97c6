/** Time for which a frame may be worked, in milliseconds; more would hold up the page, also on a slow machine. */
const budgetMs = 6;

/**
 * Does something with each item, the first ones at once and so many more with each frame as there is time for.
 *
 * @returns stops it
 */
export function inFrames<T>(items: readonly T[], action: (item: T) => void, whenDone = () => {}): () => void {
  let next = 0;
  let frame = 0;
  const work = () => {
    const endMs = performance.now() + budgetMs;
    while (next < items.length && performance.now() < endMs) action(items[next++] as T);
    if (next < items.length) frame = requestAnimationFrame(work);
    else whenDone();
  };
  work();
  return () => cancelAnimationFrame(frame);
}
