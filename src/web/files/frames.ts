/** Time budget of a frame in milliseconds. With a larger budget, the page would not react in time on a slow machine. */
const budgetMs = 6;

/**
 * Processes items within a time budget per frame. The first items are processed immediately, the others in later frames.
 *
 * @returns a function that stops the processing
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
