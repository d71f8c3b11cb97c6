import { make, makeButton } from '../../../shared/dom.ts';
import { text } from '../../language.ts';
import { previewText } from '../preview-text.ts';
import { Refusal } from '../remote-file.ts';

interface Reached {
  /** A text that says how much is shown; undefined if everything is shown. */
  words: string | undefined;
  /** Number of rows or lines that the next step will show: 0 at the end, undefined if it is unknown. */
  next: number | undefined;
}

/**
 * Shows long content in steps, with a line that says how much of it is shown, and a button for the next step.
 * @param step shows the next part
 * @param signal aborted when the content is no longer shown
 * @param nearEnd returns elements at or near the end of what is shown. When one of them scrolls into view, the next part is shown, too
 */
export function inSteps(step: () => Promise<Reached>, signal: AbortSignal, nearEnd: () => Element[] = () => []) {
  const counter = make('p.hint', { role: 'status' });
  const button = makeButton(previewText('showMore'), 'down', () => void grow());
  const element = make('div.row', counter, button);
  element.hidden = true;
  const watch = new IntersectionObserver((seen) => {
    if (seen.some(({ isIntersecting }) => isIntersecting) && !button.disabled && !button.hidden) void grow();
  });
  const grow = async () => {
    watch.disconnect();
    const hadFocus = document.activeElement === button;
    button.disabled = true;
    try {
      const { words, next } = await step();
      counter.textContent = words ?? '';
      button.hidden = next === 0;
      element.hidden = words === undefined;
      for (const last of nearEnd()) watch.observe(last);
      button.lastChild?.replaceWith(next === undefined ? previewText('showMore') : previewText('showMoreRows', { count: next }));
    } catch (error) {
      // If another file is shown now, the error no longer matters.
      if (signal.aborted) return;
      if (!(error instanceof Refusal)) throw error;
      counter.textContent = text('error', { reason: error.message });
      element.hidden = false;
    }
    button.disabled = false;
    if (hadFocus) button.focus();
  };
  return { element, first: grow() };
}
