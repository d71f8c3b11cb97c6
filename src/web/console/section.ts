import type { Overview } from '../../console/api/schemas/overview.ts';
import type { IconName } from '../../lib/icon-shapes.ts';
import { byId, type Child, drawnIcon, make, makeButton } from '../shared/dom.ts';
import { notice } from '../shared/notices.ts';
import { text, translate } from './language.ts';
import { errorText, Refused } from './request.ts';
import { hashFor, type Route, type SectionName } from './route.ts';
import { clear, numberText } from './shown.ts';

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

/** Focuses the part of the section that parameter `show` of the query names. Scrolls to it if it is not wholly visible. */
export function scrollToShown(main: HTMLElement, { query }: Route): void {
  const shown = main.querySelector<HTMLElement>(`[data-shown-as="${CSS.escape(query.get('show') ?? '')}"]`);
  if (!shown) return;
  shown.tabIndex = -1;
  const { top, bottom } = shown.getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) shown.scrollIntoView();
  shown.focus({ preventScroll: true });
}

export function heading(title: string, ...beside: Child[]): HTMLElement {
  return make('div.heading', make('h1', title), ...beside);
}

/** Shows the name of the server, and how many uploads and due files need somebody, in the frame of the page. */
export function showFrame({ server, held_uploads, missing_files }: Overview): void {
  byId('server').textContent = clear(server.name);
  showCount('held', held_uploads ?? 0);
  showCount('expectations', missing_files);
}

const counts = { held: 0, expectations: 0 };

/** Shows a number beside the link to a section, and a dot on the button that opens the sections. */
export function showCount(section: keyof typeof counts, count: number): void {
  const place = document.querySelector<HTMLElement>(`[data-section="${section}"] .count`);
  if (!place) return;
  counts[section] = count;
  place.textContent = count ? numberText(count) : '';
  place.title = count ? text(section === 'held' ? 'problemHeld' : 'problemMissing', { count }) : '';
  const sum = counts.held + counts.expectations;
  // Beside the name of the page, a number would seem to belong to the page.
  byId('needs').hidden = sum === 0;
  byId('needs').replaceChildren(make('span.hidden', text('needAttention', { count: sum })));
}

export function wayTo(section: SectionName): HTMLElement {
  const link = make('a', { href: hashFor(section) }, text(section));
  return make('nav.way', { ariaLabel: text('way') }, link);
}

/** Shows a state in a few words, which must be clear without the colour. */
export function badge(words: string, kind: 'good' | 'bad' | 'warn' | 'calm' = 'calm'): HTMLElement {
  return make('span', { className: `badge ${kind}` }, words);
}

let isLive = false;

/** Says whether the page gets news by itself. */
export function liveMark(): HTMLElement {
  return make('span', { className: `badge live ${isLive ? 'good' : 'warn'}` }, text(isLive ? 'live' : 'connecting'));
}

/** Keeps the marks up to date. */
export function showLive(isOpen: boolean): void {
  isLive = isOpen;
  for (const mark of document.querySelectorAll('.badge.live')) mark.replaceWith(liveMark());
}

/** Builds the error message that replaces content which could not be loaded. */
export function problem(error: unknown): HTMLElement {
  return make('p.notice.error', { role: 'alert' }, clear(errorText(error)));
}

/** Builds a line that is visible until the content of a section or a panel has been loaded. */
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

/** Icons that only the console uses, as paths on a grid of 24 units. */
const ownShapes = {
  refresh: 'M4.6 9a8 8 0 0 1 14.6-1M19.5 4v4.5H15M19.4 15a8 8 0 0 1-14.6 1M4.5 20v-4.5H9',
  replay: 'm17 3.5 3.5 3.5-3.5 3.5M3.5 11V9a2 2 0 0 1 2-2h15M7 20.5 3.5 17 7 13.5m13.5-.5v2a2 2 0 0 1-2 2h-15',
  restore: 'M8.5 5 4 9.5 8.5 14M4 9.5h10.5a5.25 5.25 0 0 1 0 10.5H9',
} as const;
type ConsoleIcon = IconName | keyof typeof ownShapes;

/** Creates a button like `makeButton`, also with an icon of the console. */
export function iconedButton(label: string, iconName: ConsoleIcon | undefined, action: () => void, className = ''): HTMLButtonElement {
  if (iconName === undefined || !(iconName in ownShapes)) return makeButton(label, iconName as IconName | undefined, action, className);
  const button = makeButton(label, undefined, action, className);
  button.prepend(drawnIcon(ownShapes[iconName as keyof typeof ownShapes]));
  return button;
}

/** Removes messages about earlier actions, because the next one can make them untrue. Errors stay. */
export function dropSuccess(): void {
  for (const old of byId('notices').querySelectorAll('.success')) old.remove();
}

/** Builds a button that is disabled while its action runs. If the action fails, a notice is shown. */
export function actionButton(
  label: string,
  iconName: ConsoleIcon | undefined,
  action: () => Promise<unknown>,
  className = '',
): HTMLButtonElement {
  const button = iconedButton(
    label,
    iconName,
    async () => {
      dropSuccess();
      button.disabled = true;
      await tell(action());
      button.disabled = button.dataset.refused !== undefined;
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

/** Moves a lost focus to what replaces the button that was pressed last; undefined if no button was pressed, or its action runs. */
let refocus: (() => void) | undefined;

document.addEventListener(
  'click',
  ({ target }) => {
    const button = (target as Element).closest<HTMLElement>('main button');
    refocus = button ? replacementOf(button) : undefined;
  },
  true,
);

/**
 * Remembers the place of a button. @returns a function that focuses the button of the same name, or at the same position, in the same row.
 * If the row is gone, the function focuses the button in the next row or in the row before; if there is none, the heading of the list
 */
function replacementOf(button: HTMLElement): () => void {
  const nameOf = ({ ariaLabel, textContent }: Element) => ariaLabel ?? textContent;
  const name = nameOf(button);
  const row = button.closest<HTMLElement>('[data-key]');
  const own = row ?? button.parentElement;
  const list = row?.parentElement;
  const rows: readonly (Element | null)[] = [...(list?.children ?? [])];
  const from = Math.max(rows.indexOf(row), 0);
  const at = [...(own?.querySelectorAll<HTMLElement>('button') ?? [])].indexOf(button);
  const parts = [button.closest('.panel'), byId('main')];
  return () => {
    // A card is replaced as a whole, so it is found by its key.
    const now = row ? list?.querySelector(`:scope > [data-key="${CSS.escape(String(row.dataset.key))}"]`) : own;
    const isLost = () => document.activeElement === document.body;
    for (const place of [now, ...rows.slice(from + 1), ...rows.slice(0, from).reverse()]) {
      if (!isLost()) return;
      const buttons = [...(place?.querySelectorAll('button') ?? [])];
      (buttons.find((one) => nameOf(one) === name) ?? buttons[Math.min(at, buttons.length - 1)])?.focus();
    }
    for (const part of parts) {
      const title = part?.querySelector<HTMLElement>('h1, h2');
      if (!title || !isLost()) continue;
      title.tabIndex = -1;
      title.focus();
    }
  };
}

/** Waits for an action and shows a notice if it fails. @returns whether it succeeded */
export async function tell(action: Promise<unknown>): Promise<boolean> {
  const after = refocus;
  refocus = undefined;
  try {
    await action;
    return true;
  } catch (error) {
    // After a refusal with 401, the page asks for the login.
    const isSignedOut = error instanceof Refused && error.status === 401;
    if (!isAbort(error) && !isSignedOut) notice(text('failed', { reason: clear(errorText(error)) }), 'error');
    return false;
  } finally {
    // Only then is a button enabled again that was disabled while its action ran.
    if (after) setTimeout(after);
  }
}
