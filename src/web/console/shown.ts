import { escapeInvisible, visibleControls } from '../../lib/display-name.ts';
import { make } from '../shared/dom.ts';
import { formatTag } from '../shared/locale.ts';

const moment = new Intl.DateTimeFormat(formatTag, { dateStyle: 'short', timeStyle: 'medium' });
const whole = new Intl.DateTimeFormat(formatTag, { dateStyle: 'full', timeStyle: 'long' });

/** A text of somebody else for people: what would change how the rest reads, or the terminal it is copied to, is made visible. */
export function clear(text: string): string {
  return escapeInvisible(visibleControls(text));
}

/** A text of several lines of somebody else, likewise. */
export function clearLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(clear).join('\t'))
    .join('\n');
}

/** A name, path or address of somebody else; its direction is its own. */
export function datum(text: string | undefined | null, className = ''): HTMLElement {
  return make('bdi', { className }, text === undefined || text === null || text === '' ? '–' : clear(text));
}

/** A time of the API in the reader's time zone. */
export function timeOf(iso: string | undefined | null): HTMLElement {
  const time = new Date(iso ?? '');
  if (Number.isNaN(time.getTime())) return datum(iso);
  return make('time', { dateTime: time.toISOString(), title: whole.format(time) }, moment.format(time));
}

/** A number for people. */
export function numberText(value: number, digits = 0): string {
  return value.toLocaleString(formatTag, { maximumFractionDigits: digits });
}
