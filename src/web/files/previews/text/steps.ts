import { make, makeButton } from '../../../shared/dom.ts';
import { text } from '../../language.ts';
import { previewText } from '../preview-text.ts';
import { Refusal } from '../remote-file.ts';

interface Reached {
  /** Says how much is shown; undefined if everything is. */
  words: string | undefined;
  /** Number of rows or lines of the next step: 0 at the end, undefined if unknown. */
  next: number | undefined;
}

/**
 * Shows long content in steps, with a line that says how much is shown, and a button for the next step.
 *
 * @param signal aborted when the content is no longer shown
 */
export function inSteps(step: () => Promise<Reached>, signal: AbortSignal) {
  const counter = make('p.hint', { role: 'status' });
  const button = makeButton(previewText('showMore'), 'down', () => void grow());
  const element = make('div.row', counter, button);
  element.hidden = true;
  const grow = async () => {
    const hadFocus = document.activeElement === button;
    button.disabled = true;
    try {
      const { words, next } = await step();
      counter.textContent = words ?? '';
      button.hidden = next === 0;
      element.hidden = words === undefined;
      button.lastChild?.replaceWith(next === undefined ? previewText('showMore') : previewText('showMoreRows', { count: next }));
    } catch (error) {
      // Another file is shown now.
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
