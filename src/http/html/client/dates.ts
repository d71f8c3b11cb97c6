import { make } from './dom.ts';
import { inFrames } from './frames.ts';
import { formatTag } from './language.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Days for which a date is said as people do. */
const recentDays = 7;

const relative = new Intl.RelativeTimeFormat(formatTag, { numeric: 'auto' });
const time = new Intl.DateTimeFormat(formatTag, { timeStyle: 'short' });
const date = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium' });
const whole = new Intl.DateTimeFormat(formatTag, { dateStyle: 'full', timeStyle: 'medium' });

/** A whole time for people, in their own time zone. */
export function wholeTime(timeMs: number): string {
  return whole.format(timeMs);
}

/** The number of the reader's own day in which a time lies. */
function dayOf(timeMs: number): number {
  const at = new Date(timeMs);
  return Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / dayMs;
}

/**
 * A time as people say it, in the reader's time zone: minutes, then days ago, then the date.
 *
 * @returns what is shown, and what is left to say for those who hear it
 */
function wordsOf(timeMs: number, nowMs: number): [shown: string, rest: string] {
  const ageMs = nowMs - timeMs;
  const days = dayOf(nowMs) - dayOf(timeMs);
  // A clock that runs ahead makes files of the future: they get their date.
  if (ageMs < -minuteMs || days >= recentDays) return [date.format(timeMs), time.format(timeMs)];
  const rest = `${date.format(timeMs)}, ${time.format(timeMs)}`;
  if (ageMs < minuteMs) return [relative.format(0, 'second'), rest];
  if (ageMs < hourMs) return [relative.format(-Math.floor(ageMs / minuteMs), 'minute'), rest];
  const day = relative.format(-days, 'day');
  return days < 2 ? [`${day}, ${time.format(timeMs)}`, date.format(timeMs)] : [day, rest];
}

/** Cells whose words change as time goes by. */
let recent: HTMLElement[] = [];
let growingOlder: ReturnType<typeof setInterval> | undefined;

function write(cell: HTMLElement, timeMs: number, nowMs: number): void {
  const [shown, rest] = wordsOf(timeMs, nowMs);
  const words = shown.charAt(0).toLocaleUpperCase(formatTag) + shown.slice(1);
  cell.replaceChildren(make('time', {}, words), make('span', { className: 'hidden' }, ` (${rest})`));
}

function timeOf(cell: HTMLElement): number {
  return Number(cell.dataset.time) * 1000;
}

/** Writes the time of a cell of the listing (`data-time`, in seconds), and again as it grows older. */
export function showDate(cell: HTMLElement): void {
  const [timeMs, nowMs] = [timeOf(cell), Date.now()];
  write(cell, timeMs, nowMs);
  if (nowMs - timeMs < recentDays * dayMs) recent.push(cell);
}

/** Keeps the recent dates of a listing true, and tells the whole time where the pointer rests. */
export function startDates(list: HTMLElement): void {
  clearInterval(growingOlder);
  growingOlder = setInterval(() => {
    recent = recent.filter((cell) => cell.isConnected);
    inFrames(recent, (cell) => write(cell, timeOf(cell), Date.now()));
  }, minuteMs);
  // A tooltip for each of 10,000 rows would take longer to write than their dates.
  list.addEventListener('pointerover', ({ target }) => {
    const shown = target instanceof Element ? target.closest<HTMLElement>('td[data-time] time') : null;
    const cell = shown?.closest('td');
    if (shown && cell) shown.title = wholeTime(timeOf(cell));
  });
}
