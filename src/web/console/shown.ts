import { escapeInvisible, visibleControls } from '../../lib/display-name.ts';
import { agoText, exactTime, isToday, wholeTime } from '../shared/dates.ts';
import { make } from '../shared/dom.ts';
import { formatTag } from '../shared/locale.ts';

/** Makes control and invisible characters in foreign text visible, because they could change the page or a terminal. */
export function clear(text: string): string {
  return escapeInvisible(visibleControls(text));
}

/** Shows a foreign name, path or address, isolated from the text direction around it. */
export function datum(text: string | number | undefined | null, className = ''): HTMLElement {
  return make('bdi', { className }, text === undefined || text === null || text === '' ? '–' : clear(String(text)));
}

/** Shows a dash for a missing value. In lists, phones show neither the dash nor the label of the value. */
export function noValue(): HTMLElement {
  return make('span.wide-only', '–');
}

/** Shows a path that takes several lines, which break after slashes where possible. */
export function pathDatum(path: string): HTMLElement {
  const parts = clear(path).split(/(?<=\/)/);
  return make('bdi.path', ...parts.flatMap((part) => [part, make('wbr')]));
}

/** Shows a path in one line. If there is no room, an ellipsis replaces its beginning. The title has the whole path. */
export function pathEnd(path: string): HTMLElement {
  const shown = clear(path);
  return make('span.path-end.code', { title: shown }, make('bdi', { dir: 'ltr' }, shown));
}

/**
 * Shows the message of an event. Its due times are shown in the reader's time zone.
 *
 * @param due the due times in the message, as the API gives them; empty ones are ignored
 */
export function messageDatum(message: string, ...due: unknown[]): HTMLElement {
  const local = (iso: string) => new Date(iso).toLocaleString(formatTag, { dateStyle: 'medium', timeStyle: 'short' });
  const times = due.filter((iso) => typeof iso === 'string' && !Number.isNaN(Date.parse(iso))) as string[];
  // The name of an expectation comes before the due times, and may itself contain such a time. So times are searched from the end.
  const shown = times.reduceRight((told, iso) => {
    const at = told.lastIndexOf(iso);
    return at < 0 ? told : told.slice(0, at) + local(iso) + told.slice(at + iso.length);
  }, message);
  return datum(shown);
}

/**
 * @param form `due`: date and time, without seconds if they are 0; `dueClock`: the same without the date; `age` and `ageInPhrase`: how long
 *   ago; `inPhrase` and by default: date and time to the second
 */
function timeIn(iso: string | undefined | null, form?: 'due' | 'dueClock' | 'age' | 'ageInPhrase' | 'inPhrase'): HTMLElement {
  const time = new Date(iso ?? '');
  if (Number.isNaN(time.getTime())) return datum(iso);
  const element = make('time', { dateTime: time.toISOString(), title: wholeTime(time.getTime()) });
  if (form) element.dataset.form = form;
  fillTime(element);
  return element;
}

/** Shows a time from the API to the second, in the reader's time zone. */
export function timeElement(iso: string | undefined | null): HTMLElement {
  return timeIn(iso);
}

/** Like `timeElement`, but for a time within a phrase, which does not begin with a capital letter. */
export function timeInPhrase(iso: string): HTMLElement {
  return timeIn(iso, 'inPhrase');
}

/** Shows a due time, without seconds if they are 0. @param isClock whether only the time of day is shown */
export function dueElement(iso: string, isClock = false): HTMLElement {
  return timeIn(iso, isClock ? 'dueClock' : 'due');
}

/** Shows how long ago something happened, in the same words as the listings of files. The title has the exact time. */
export function ageElement(iso: string | undefined | null): HTMLElement {
  return timeIn(iso, 'age');
}

/** Like `ageElement`, but for a time within a phrase, which does not begin with a capital letter. */
export function ageInPhrase(iso: string | undefined | null): HTMLElement {
  return timeIn(iso, 'ageInPhrase');
}

function fillTime(element: HTMLTimeElement): void {
  const timeMs = Date.parse(element.dateTime);
  const { form } = element.dataset;
  if (form?.startsWith('age')) {
    const told = agoText(timeMs, form === 'ageInPhrase');
    // Replacing a text would end its selection.
    if (element.textContent !== told) element.textContent = told;
    return;
  }
  const [day, clock] = exactTime(timeMs, form?.startsWith('due'), form === 'inPhrase');
  if (form === 'dueClock') {
    element.textContent = clock;
    return;
  }
  element.className = isToday(timeMs) ? 'today' : '';
  element.replaceChildren(make('span.date', `${day}, `), clock);
}

// Ages grow, and after midnight the times of the previous day need their dates.
let filledMs = Date.now();
setInterval(() => {
  const which = isToday(filledMs) ? 'time[data-form^="age"]' : 'time[title]';
  filledMs = Date.now();
  for (const element of document.querySelectorAll<HTMLTimeElement>(which)) fillTime(element);
}, 10_000);

export function numberText(value: number, digits = 0): string {
  return value.toLocaleString(formatTag, { maximumFractionDigits: digits });
}

export function listed(words: readonly string[]): string {
  return new Intl.ListFormat(formatTag, { type: 'conjunction' }).format(words);
}
