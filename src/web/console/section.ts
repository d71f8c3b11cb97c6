import type { IconName } from '../../lib/icon-shapes.ts';
import { type Child, make, makeButton } from '../shared/dom.ts';
import { notice } from '../shared/notices.ts';
import { text, translate } from './language.ts';
import { errorText, Refused } from './request.ts';
import { hashFor, type Route, type SectionName } from './route.ts';
import { clear } from './shown.ts';

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

export function stateBadge(state: string): HTMLElement {
  return badge(translate('state', state), kinds[state]);
}

/** Shows the state of a replay. If a finished replay had failures, the badge is a warning. */
export function replayBadge({ state, failed }: { state: string; failed: number }): HTMLElement {
  return state === 'done' && failed > 0 ? badge(text('doneWithFailures', { count: failed }), 'warn') : stateBadge(state);
}

/** Shows the outcome of a delivery. */
export function outcomeBadge(outcome: string): HTMLElement {
  return badge(translate('outcome', outcome), kinds[outcome]);
}

/** The element in which a section is shown, and its state. */
export interface Stage {
  main: HTMLElement;
  route: Route;
  /** Aborted when the page shows something else. */
  signal: AbortSignal;
}

export function panel(title: string, ...content: Child[]): HTMLElement {
  return make('section.panel', make('h2', title), ...content);
}

/** Names a part of a section, so that a link with `show` in its query can scroll to it. */
export function shownAs<E extends HTMLElement>(name: string, element: E): E {
  element.dataset.shownAs = name;
  return element;
}

/** Scrolls to the part of the section that parameter `show` of the query names. */
export function scrollToShown(main: HTMLElement, { query }: Route): void {
  const shown = main.querySelector<HTMLElement>(`[data-shown-as="${CSS.escape(query.get('show') ?? '')}"]`);
  if (!shown) return;
  shown.tabIndex = -1;
  shown.scrollIntoView();
  shown.focus({ preventScroll: true });
}

export function heading(title: string, ...beside: Child[]): HTMLElement {
  return make('div.heading', make('h1', title), ...beside);
}

export function wayTo(section: SectionName): HTMLElement {
  const link = make('a', { href: hashFor(section) }, text(section));
  return make('nav.way', { ariaLabel: text('way') }, link);
}

/** Shows a state in a few words, which must be clear without the colour. */
export function badge(words: string, kind: 'good' | 'bad' | 'warn' | 'calm' = 'calm'): HTMLElement {
  return make('span', { className: `badge ${kind}` }, words);
}

/** Builds the error message that replaces content which could not be loaded. */
export function problem(error: unknown): HTMLElement {
  return make('p.notice.error', { role: 'alert' }, clear(errorText(error)));
}

/** Builds a line that is visible until the content of a panel has been loaded. */
export function loadingLine(): HTMLElement {
  return make('p.hint.loading', text('loading'));
}

/** Builds a line that is visible while other nodes are unreachable. `show` shows the reason; without a reason, it hides the line. */
export function incompleteLine() {
  const words = make('p.notice.error', { hidden: true });
  const show = (reason = '') => {
    const told = text('incomplete', { reason: clear(reason) });
    words.hidden = reason === '';
    // Write only changed text, because screen readers announce each change.
    if (words.textContent !== told) words.textContent = told;
  };
  return { element: make('div', { role: 'status' }, words), show };
}

/** Builds a list of names and values. Undefined and false values are omitted. */
export function facts(...pairs: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== false);
  return make('dl.facts', ...shown.map(([name, value]) => make('div', make('dt', name), make('dd', value))));
}

/** Returns whether an error means that a request was aborted because it is no longer needed. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** Builds a button that is disabled while its action runs. If the action fails, a notice is shown. */
export function actionButton(
  label: string,
  iconName: IconName | undefined,
  action: () => Promise<unknown>,
  className = '',
): HTMLButtonElement {
  const button = makeButton(
    label,
    iconName,
    async () => {
      const hadFocus = document.activeElement === button;
      button.disabled = true;
      await tell(action());
      button.disabled = button.dataset.refused !== undefined;
      if (hadFocus && document.activeElement === document.body) button.focus();
    },
    className,
  );
  return button;
}

/** Disables a button whose action would be refused, or enables it again. Do not call this while the action runs. */
export function refuse(button: HTMLButtonElement, isRefused: boolean): void {
  if (isRefused) button.dataset.refused = '';
  else delete button.dataset.refused;
  button.disabled = isRefused;
}

/** Waits for an action and shows a notice if it fails. @returns whether it succeeded */
export async function tell(action: Promise<unknown>): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    // After a refusal with 401, the page asks for the login.
    const isSignedOut = error instanceof Refused && error.status === 401;
    if (!isAbort(error) && !isSignedOut) notice(text('failed', { reason: clear(errorText(error)) }), 'error');
    return false;
  }
}
