/** Time budget of a frame, small enough for slow machines. */
const budgetMs = 6;

/**
 * Processes items within a time budget per frame. The first items are processed immediately.
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
