import { text, wordOf } from './language.ts';
import { badge } from './section.ts';

const kinds: Readonly<Record<string, 'good' | 'bad' | 'warn'>> = {
  running: 'good',
  ready: 'good',
  delivered: 'good',
  done: 'good',
  stopped: 'bad',
  failed: 'bad',
  discarded: 'warn',
  paused: 'warn',
  suspended: 'warn',
  starting: 'warn',
  stopping: 'warn',
  gone: 'bad',
};

/** The state of a handler, method, node or replay. */
export function stateBadge(state: string): HTMLElement {
  return badge(wordOf('state', state), kinds[state]);
}

/** The outcome of a delivery, and how it came about when not in the background. */
export function outcomeBadge(outcome: string): HTMLElement {
  return badge(wordOf('outcome', outcome), kinds[outcome]);
}

/** Whether something works as it should. */
export function yesNoBadge(isGood: boolean, good = text('yes'), bad = text('no')): HTMLElement {
  return badge(isGood ? good : bad, isGood ? 'good' : 'bad');
}
