import type { IconName } from '../../lib/icon-shapes.ts';
import { type Child, make, makeButton } from '../shared/dom.ts';
import { notice } from '../shared/notices.ts';
import { text, translate } from './language.ts';
import { errorText } from './request.ts';
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

/** The outcome of a delivery, and how it came about when not in the background. */
export function outcomeBadge(outcome: string): HTMLElement {
  return badge(translate('outcome', outcome), kinds[outcome]);
}

/** The element and state of a section. */
export interface Stage {
  main: HTMLElement;
  route: Route;
  /** Aborts when the page shows something else. */
  signal: AbortSignal;
}

export function panel(title: string, ...content: Child[]): HTMLElement {
  return make('section.panel', make('h2', title), ...content);
}

/** Names a part of a section, to which a link with `show` in its query leads. */
export function shownAs<E extends HTMLElement>(name: string, element: E): E {
  element.dataset.shownAs = name;
  return element;
}

/** Brings the part that a link named into sight. */
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

/** A state in a few words, which say no less than the colour. */
export function badge(words: string, kind: 'good' | 'bad' | 'warn' | 'calm' = 'calm'): HTMLElement {
  return make('span', { className: `badge ${kind}` }, words);
}

/** An error message, in place of the content that failed. */
export function problem(error: unknown): HTMLElement {
  return make('p.notice.error', { role: 'alert' }, clear(errorText(error)));
}

/** A line that is shown while other nodes cannot be reached; `show` is told why, nothing when they can be seen. */
export function incompleteLine() {
  const words = make('p.notice.error', { hidden: true });
  const show = (reason = '') => {
    const told = text('incomplete', { reason: clear(reason) });
    words.hidden = reason === '';
    // Screen readers read out what is written.
    if (words.textContent !== told) words.textContent = told;
  };
  return { element: make('div', { role: 'status' }, words), show };
}

/** A list of names and values, without values that are undefined or false. */
export function facts(...pairs: readonly (readonly [name: string, value: Child])[]): HTMLElement {
  const shown = pairs.filter(([, value]) => value !== undefined && value !== false);
  return make('dl.facts', ...shown.map(([name, value]) => make('div', make('dt', name), make('dd', value))));
}

/** Whether an error is the abort of a request that is no longer needed. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** A button that is disabled while its action runs, and shows a notice when that fails. */
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

/** Disables a button whose action would be refused, or enables it again; not while its action runs. */
export function refuse(button: HTMLButtonElement, isRefused: boolean): void {
  if (isRefused) button.dataset.refused = '';
  else delete button.dataset.refused;
  button.disabled = isRefused;
}

/** Shows a notice when an action fails. @returns whether it succeeded */
export async function tell(action: Promise<unknown>): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    if (!isAbort(error)) notice(text('failed', { reason: clear(errorText(error)) }), 'error');
    return false;
  }
}
