import type { ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { make } from '../../shared/dom.ts';
import { formatTag } from '../../shared/locale.ts';
import { translate } from '../language.ts';
import { grouped, kindOf } from './occurrences.ts';

/** States from worst to best. The state of a day is the worst of its occurrences. */
const worstFirst: readonly ToldOccurrence['state'][] = ['missing', 'malformed', 'late', 'waiting', 'excused', 'met'];

/** Signs for the states, so that the calendar can be read without colours. */
const signs: Readonly<Record<ToldOccurrence['state'], string>> = {
  met: '✓',
  late: '▲',
  missing: '✕',
  malformed: '≠',
  excused: '–',
  waiting: '…',
};

// The days of the calendar are dates without a time zone.
const monthFormat = new Intl.DateTimeFormat(formatTag, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayFormat = new Intl.DateTimeFormat(formatTag, { dateStyle: 'long', timeZone: 'UTC' });
const weekdayFormat = new Intl.DateTimeFormat(formatTag, { weekday: 'narrow', timeZone: 'UTC' });

/** Returns the day of a due time in the time zone of the expectation. */
const dayOf = ({ due }: ToldOccurrence): string => due.slice(0, 10);

/** Shows the days of occurrences as months, with the state of each day. */
export function calendar(occurrences: readonly ToldOccurrence[]): HTMLElement {
  const byDay = grouped(occurrences, dayOf);
  const days = [...byDay.keys()].sort();
  const months = new Set(days.map((day) => day.slice(0, 7)));
  return make('div.months', ...[...months].reverse().map((month) => monthView(month, byDay)));
}

function monthView(month: string, byDay: ReadonlyMap<string, readonly ToldOccurrence[]>): HTMLElement {
  const first = new Date(`${month}-01T00:00:00Z`);
  const count = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const weekdays = Array.from({ length: 7 }, (_, index) => weekdayFormat.format(Date.UTC(2024, 0, 1 + index)));
  const days = Array.from({ length: count }, (_, index) => {
    const day = `${month}-${String(index + 1).padStart(2, '0')}`;
    return dayView(new Date(`${day}T00:00:00Z`), byDay.get(day));
  });
  const [begin] = days;
  if (begin) begin.style.gridColumnStart = String(((first.getUTCDay() + 6) % 7) + 1);
  return make(
    'section.month',
    make('h3', monthFormat.format(first)),
    make('div.weekdays', { ariaHidden: 'true' }, ...weekdays.map((name) => make('span', name))),
    make('ol.days', ...days),
  );
}

function dayView(day: Date, occurrences: readonly ToldOccurrence[] = []): HTMLElement {
  const number = make('span', { ariaHidden: 'true' }, String(day.getUTCDate()));
  const state = worstFirst.find((one) => occurrences.some((occurrence) => occurrence.state === one));
  if (!state) return make('li', { ariaHidden: 'true' }, number);
  const counts = worstFirst.flatMap((one) => {
    const found = occurrences.filter((occurrence) => occurrence.state === one).length;
    return found === 0 ? [] : [occurrences.length === 1 ? translate('due', one) : `${found} × ${translate('due', one)}`];
  });
  const words = `${dayFormat.format(day)}: ${counts.join(', ')}`;
  return make(
    'li',
    { className: kindOf[state], title: words },
    number,
    make('span.sign', { ariaHidden: 'true' }, signs[state]),
    make('span.hidden', words),
  );
}
