import { make } from '../shared/dom.ts';
import { formatTag } from '../shared/locale.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Days for which a date is shown relative to today. */
const recentDays = 7;

const relative = new Intl.RelativeTimeFormat(formatTag, { numeric: 'auto' });
const time = new Intl.DateTimeFormat(formatTag, { timeStyle: 'short' });
const date = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium' });

export function wholeTime(timeMs: number): string {
  return new Intl.DateTimeFormat(formatTag, { dateStyle: 'full', timeStyle: 'medium' }).format(timeMs);
}

/** The day and the time to the second, as short as the language has it. */
export function shortTime(timeMs: number): string {
  return new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'medium' }).format(timeMs);
}

/** The time after a wait, to the full minute by which it is over; with its day when that is not today. */
export function timeAfter(waitSeconds: number): string {
  const nowMs = Date.now();
  const timeMs = Math.ceil((nowMs + waitSeconds * 1000) / minuteMs) * minuteMs;
  return dayNumber(timeMs) === dayNumber(nowMs) ? time.format(timeMs) : `${date.format(timeMs)}, ${time.format(timeMs)}`;
}

function dayNumber(timeMs: number): number {
  const at = new Date(timeMs);
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / dayMs;
}

/** A time in the reader's words: minutes, then days ago, then the date. @returns the shown text, and the rest for screen readers */
function timeWords(timeMs: number, nowMs: number): [shown: string, rest: string] {
  const ageMs = nowMs - timeMs;
  const days = dayNumber(nowMs) - dayNumber(timeMs);
  // A clock that runs ahead makes files of the future: they get their date.
  if (ageMs < -minuteMs || days >= recentDays) return [date.format(timeMs), time.format(timeMs)];
  const rest = `${date.format(timeMs)}, ${time.format(timeMs)}`;
  if (ageMs < minuteMs) return [relative.format(0, 'second'), rest];
  if (ageMs < hourMs) return [relative.format(-Math.floor(ageMs / minuteMs), 'minute'), rest];
  const day = relative.format(-days, 'day');
  return days < 2 ? [`${day}, ${time.format(timeMs)}`, date.format(timeMs)] : [day, rest];
}

/** Writes the time of an element (`data-time`, in seconds) as the reader says it. */
export function showDate(place: HTMLElement): void {
  const [shown, rest] = timeWords(elementTime(place), Date.now());
  const words = shown.charAt(0).toLocaleUpperCase(formatTag) + shown.slice(1);
  place.replaceChildren(make('time', words), make('span.hidden', ` (${rest})`));
}

/** Whether the words for the time of an element change as it grows older. */
export function growsOlder(place: HTMLElement): boolean {
  return Date.now() - elementTime(place) < (recentDays + 1) * dayMs;
}

/** The time of an element, in milliseconds of Unix time. */
export function elementTime(place: HTMLElement): number {
  return Number(place.dataset.time) * 1000;
}
