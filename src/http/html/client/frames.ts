/** What is done at once; more would hold up the page. */
const atOnce = 400;

/** Does something with each item, the first ones at once and so many more with each frame. */
export function inFrames<T>(items: readonly T[], action: (item: T) => void, from = 0): void {
  for (const item of items.slice(from, from + atOnce)) action(item);
  if (from + atOnce < items.length) requestAnimationFrame(() => inFrames(items, action, from + atOnce));
}
