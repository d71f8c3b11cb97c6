import { make } from './dom.ts';
import { formatTag } from './locale.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Number of days for which dates are shown relative to today. */
const recentDays = 7;

const relative = new Intl.RelativeTimeFormat(formatTag, { numeric: 'auto' });
const time = new Intl.DateTimeFormat(formatTag, { timeStyle: 'short' });
const date = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium' });

export function wholeTime(timeMs: number): string {
  return new Intl.DateTimeFormat(formatTag, { dateStyle: 'full', timeStyle: 'medium' }).format(timeMs);
}

/** Formats a date and a time with seconds, in the short form of the language. */
export function shortTime(timeMs: number): string {
  return new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'medium' }).format(timeMs);
}

/** Returns the time at which a wait ends, rounded up to a minute. If the wait does not end today, the date is included. */
export function timeAfter(waitSeconds: number): string {
  const nowMs = Date.now();
  const timeMs = Math.ceil((nowMs + waitSeconds * 1000) / minuteMs) * minuteMs;
  return dayNumber(timeMs) === dayNumber(nowMs) ? time.format(timeMs) : `${date.format(timeMs)}, ${time.format(timeMs)}`;
}

const clock = new Intl.DateTimeFormat(formatTag, { timeStyle: 'medium' });

/**
 * Describes a time to the second. Today and yesterday are words, as in lists of files.
 * @param isShort whether seconds are omitted if they are 0
 * @param isInPhrase whether the day does not begin with a capital letter
 * @returns the day, and the time of day
 */
export function exactTime(timeMs: number, isShort = false, isInPhrase = false): [day: string, time: string] {
  const days = dayNumber(timeMs) - dayNumber(Date.now());
  const day = (isInPhrase && days === 1) || days === 0 || days === -1 ? relative.format(days, 'day') : date.format(timeMs);
  return [isInPhrase ? day : capitalised(day), (isShort && timeMs % minuteMs === 0 ? time : clock).format(timeMs)];
}

/** Whether a time is today in the reader's time zone. */
export function isToday(timeMs: number): boolean {
  return dayNumber(timeMs) === dayNumber(Date.now());
}

function capitalised(words: string): string {
  return words.charAt(0).toLocaleUpperCase(formatTag) + words.slice(1);
}

function dayNumber(timeMs: number): number {
  const at = new Date(timeMs);
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / dayMs;
}

/**
 * Describes a time as now, minutes ago, a time of today or yesterday, days ago, or a date, depending on its age.
 *
 * @returns the visible text, and further text for screen readers
 */
function timeWords(timeMs: number, nowMs: number): [shown: string, rest: string] {
  const ageMs = nowMs - timeMs;
  const days = dayNumber(nowMs) - dayNumber(timeMs);
  // Files can have future times, for example because a clock is fast. Such a time is shown as a date.
  if (ageMs < -minuteMs || days >= recentDays) return [date.format(timeMs), time.format(timeMs)];
  const rest = `${date.format(timeMs)}, ${time.format(timeMs)}`;
  if (ageMs < minuteMs) return [relative.format(0, 'second'), rest];
  if (ageMs < hourMs) return [relative.format(-Math.floor(ageMs / minuteMs), 'minute'), rest];
  const day = relative.format(-days, 'day');
  return days < 2 ? [`${day}, ${time.format(timeMs)}`, date.format(timeMs)] : [day, rest];
}

/** Describes a time as lists of files do: minutes ago, a time of today or yesterday, days ago, or a date. */
export function agoText(timeMs: number, isInPhrase = false): string {
  const nowMs = Date.now();
  // The time of a few seconds ago is not "now", because several times would look alike, and "Last error now" says something else.
  const isRecent = timeMs <= nowMs && nowMs - timeMs < minuteMs;
  const shown = isRecent ? relative.format(-Math.ceil((nowMs - timeMs + 1) / 1000), 'second') : timeWords(timeMs, nowMs)[0];
  return isInPhrase ? shown : capitalised(shown);
}

/** Shows the time of an element (`data-time`, in seconds) in the language and time zone of the reader. */
export function showDate(place: HTMLElement): void {
  const [shown, rest] = timeWords(elementTime(place), Date.now());
  place.replaceChildren(make('time', capitalised(shown)), make('span.hidden', ` (${rest})`));
}

/** Like `showDate`, but for a time within a phrase. A future time is shown as today, tomorrow or a date, with the time of day. */
export function showDateInPhrase(place: HTMLElement): void {
  const [timeMs, nowMs] = [elementTime(place), Date.now()];
  if (timeMs - nowMs > minuteMs / 2) {
    const days = dayNumber(timeMs) - dayNumber(nowMs);
    place.replaceChildren(make('time', `${days < 2 ? relative.format(days, 'day') : date.format(timeMs)}, ${time.format(timeMs)}`));
    return;
  }
  const [shown, rest] = timeWords(timeMs, nowMs);
  place.replaceChildren(make('time', shown), make('span.hidden', ` (${rest})`));
}

/** Returns whether the text for an element's time still changes as time passes. */
export function growsOlder(place: HTMLElement): boolean {
  return Date.now() - elementTime(place) < (recentDays + 1) * dayMs;
}

/** Returns the time of an element as Unix time in milliseconds. */
export function elementTime(place: HTMLElement): number {
  return Number(place.dataset.time) * 1000;
}
