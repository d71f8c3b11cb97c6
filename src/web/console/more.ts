import { make } from '../shared/dom.ts';
import { text } from './language.ts';
import { actionButton, isAbort, loadingLine, problem } from './section.ts';
import { focusRow } from './table.ts';

/** Fetches and shows the next page. @returns whether there are more pages, and the first new row, to which the keyboard focus moves */
type NextPage = () => Promise<{ hasMore: boolean; first: HTMLElement | undefined }>;

/**
 * Builds the end of a long list, with a button that fetches more rows.
 *
 * @param isAlone after the first press, further rows are fetched when the end scrolls into view. False if something follows the list, which
 *   could then not be reached by scrolling
 */
export function growingEnd(next: NextPage, signal: AbortSignal, isAlone = true) {
  const element = make('div.more');
  const button = actionButton(text('showMore'), 'down', () => load(true));
  const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && void load(), {
    rootMargin: '400px',
  });
  signal.addEventListener('abort', () => observer.disconnect());
  let isBusy = false;

  /** Fetches the next page. @param isAsked whether the button was pressed, so that the focus moves to the new rows */
  const load = async (isAsked = false): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    element.replaceChildren(loadingLine());
    observer.disconnect();
    try {
      const { hasMore, first } = await next();
      element.replaceChildren(...(hasMore ? [button] : []));
      if (isAsked) focusRow(first);
      // Observe the button again. The observer also reports a button that has stayed in view.
      if (hasMore && isAlone) observer.observe(button);
    } catch (error) {
      if (!isAbort(error)) element.replaceChildren(problem(error), button);
    } finally {
      isBusy = false;
    }
  };

  const offer = () => {
    if (!isBusy && !button.isConnected) element.replaceChildren(button);
  };
  return { element, load, offer };
}

/** Time in milliseconds for which the page waits for rows that were shown before. */
const returningMs = 5000;

/** Time in milliseconds for which the position is kept after that, because parts above the rows, such as a chart, can be slower. */
const settlingMs = 1000;

/**
 * Scrolls to where a view was left, and focuses the link that was followed. Rows are loaded meanwhile, so it scrolls again whenever the
 * view grows, until it has arrived or the reader does something.
 *
 * @param from fragment to which the followed link led
 */
export function returnTo(main: HTMLElement, top: number, from: string | undefined, signal: AbortSignal): void {
  const onGrowth = new ResizeObserver(() => {
    if (top > 0) scrollTo(0, top);
    const link = [...main.querySelectorAll('a')].find(({ hash }) => hash === from);
    if (!link) return;
    const { top: above, bottom } = link.getBoundingClientRect();
    // While the page of the followed link was open, live events may have moved the row of the link.
    if (above < 0 || bottom > innerHeight) link.scrollIntoView({ block: 'center' });
    if (document.activeElement === main) link.focus({ preventScroll: true });
    if (document.documentElement.scrollHeight - innerHeight >= top) setTimeout(stop, settlingMs);
  });
  const stop = () => onGrowth.disconnect();
  const ends = { once: true, passive: true, signal } as const;
  for (const type of ['wheel', 'pointerdown', 'touchstart', 'keydown']) addEventListener(type, stop, ends);
  signal.addEventListener('abort', stop);
  setTimeout(stop, returningMs);
  onGrowth.observe(main);
}
