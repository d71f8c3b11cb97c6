import { make, makeButton } from '../../../shared/dom.ts';
import { text } from '../../language.ts';
import { previewText } from '../preview-text.ts';
import { Refusal } from '../remote-file.ts';

/** How far something is shown after a step. */
interface Reached {
  /** Says how far, for people; undefined when all is shown. */
  words: string | undefined;
  /** How many rows or lines the next step shows: 0 at the end, undefined when nobody knows. */
  next: number | undefined;
}

/**
 * Shows something long in steps: a line that says how far it is shown, and a button for the next step.
 * @param step shows more
 * @param signal ends it
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
      // Another file is shown by now.
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
