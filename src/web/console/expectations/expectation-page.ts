import type { OccurrenceHistory, Punctuality, ToldExpectation, ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { make } from '../../shared/dom.ts';
import { formatTag } from '../../shared/locale.ts';
import { text, translate } from '../language.ts';
import { ask } from '../request.ts';
import { actionButton, facts, heading, loadingLine, panel, type Stage, wayTo } from '../section.ts';
import { datum, numberText } from '../shown.ts';
import { makeTable } from '../table.ts';
import { dueColumn, grouped, occurrenceKey, stateColumns, stateKinds, worstFirst } from './occurrences.ts';

const days = 90;

/** Maximum number of rows of the history. */
const maxRows = 300;

/** Shows one expectation with its calendar, the usual arrival of its files, and its history. */
export async function showExpectation({ main, route, signal }: Stage): Promise<void> {
  const table = makeTable<ToldOccurrence>(
    text('dueHistory'),
    text('dueNothing'),
    [dueColumn, ...stateColumns(() => load())],
    occurrenceKey,
  );
  const title = make('span', datum(route.id));
  const months = make('div', loadingLine());
  const figures = make('div', loadingLine());
  const loadingHistory = loadingLine();
  const cut = make('p.hint', { hidden: true });
  const load = async () => {
    const url = `/api/expectations/${encodeURIComponent(route.id)}/occurrences?days=${days}`;
    const [{ expectations }, { occurrences, punctuality }] = await Promise.all([
      ask<{ expectations: ToldExpectation[] }>('GET', '/api/expectations', { signal }),
      ask<OccurrenceHistory>('GET', url, { signal }),
    ]);
    const own = expectations.find(({ expectation }) => expectation === route.id);
    title.replaceChildren(datum(own?.name ?? route.id));
    months.replaceChildren(occurrences.length > 0 ? calendar(occurrences) : make('p.nothing', text('dueNothing')));
    figures.replaceChildren(punctuality ? arrivals(punctuality, occurrences) : make('p.nothing', text('dueNeverCame')));
    // Only the calendar shows the days before the expectation was active. In the table, these days would be most rows of a new expectation.
    const watched = occurrences.filter((one) => one.watched !== false);
    table.show(watched.slice(0, maxRows));
    loadingHistory.remove();
    cut.hidden = watched.length <= maxRows;
    cut.textContent = text('heldMore', { shown: maxRows, total: watched.length });
  };
  const head = heading('', actionButton(text('heldRefresh'), 'recent', load, 'compact'));
  head.querySelector('h1')?.replaceChildren(title);
  main.append(
    wayTo('expectations'),
    head,
    panel(text('dueCalendar', { days }), months),
    panel(text('duePunctuality'), make('p.hint', text('duePunctualityHint')), figures),
    panel(text('dueHistory'), loadingHistory, table.element, cut),
  );
  await load();
}

/** Shows how long before or after the due time files arrived. If the due time is the same every day, the time of day is shown, too. */
function arrivals({ count, ...at }: Punctuality, occurrences: readonly ToldOccurrence[]): HTMLElement {
  const clocks = new Set(occurrences.map(({ due }) => due.slice(11, 16)));
  const [clock = ''] = clocks;
  const shown = (seconds: number) => {
    const by = text(seconds < 0 ? 'dueBefore' : 'dueAfter', { time: hours(Math.abs(seconds)) });
    return clocks.size === 1 ? `${clockAfter(clock, seconds)} (${by})` : by;
  };
  return facts(
    [text('dueMedian'), shown(at.median)],
    [text('dueHalf'), text('dueFromTo', { from: shown(at.lower_quartile), to: shown(at.upper_quartile) })],
    [text('dueNineInTen'), shown(at.ninth_decile)],
    [text('dueEarliest'), shown(at.earliest)],
    [text('dueLatest'), shown(at.latest)],
    [text('dueCame'), numberText(count)],
  );
}

/** Formats a duration as hours and minutes. */
function hours(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
}

/** Returns the time of day this many seconds after `clock`, which is `HH:MM`. */
function clockAfter(clock: string, seconds: number): string {
  const [hour = 0, minute = 0] = clock.split(':').map(Number);
  const minutes = Math.floor((((hour * 60 + minute) * 60 + seconds) / 60) % 1440);
  return hours(((minutes + 1440) % 1440) * 60).padStart(5, '0');
}

/** Signs for the states, so that the calendar can be read without colours. */
const signs: Readonly<Record<ToldOccurrence['state'], string>> = {
  met: '✓',
  late: '▲',
  missing: '✕',
  malformed: '≠',
  excused: '–',
  waiting: '…',
};

// The calendar's days are computed in UTC, so they are formatted in UTC, too.
const monthFormat = new Intl.DateTimeFormat(formatTag, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayFormat = new Intl.DateTimeFormat(formatTag, { dateStyle: 'long', timeZone: 'UTC' });
const weekdayFormat = new Intl.DateTimeFormat(formatTag, { weekday: 'narrow', timeZone: 'UTC' });

/** Returns the day of a due time in the time zone of the expectation. */
const dueDay = ({ due }: ToldOccurrence): string => due.slice(0, 10);

/** Shows the days of occurrences as months, with the state of each day. */
export function calendar(occurrences: readonly ToldOccurrence[]): HTMLElement {
  const byDay = grouped(occurrences, dueDay);
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
    return dayView(new Date(`${day}T00:00:00Z`), byDay.get(day) ?? []);
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

function dayView(day: Date, all: readonly ToldOccurrence[]): HTMLElement {
  const number = make('span', { ariaHidden: 'true' }, String(day.getUTCDate()));
  const occurrences = all.filter(({ watched }) => watched !== false);
  const state = worstFirst.find((one) => occurrences.some((occurrence) => occurrence.state === one));
  if (!state && all.length > 0) {
    const title = `${dayFormat.format(day)}: ${text('dueNotWatched')}`;
    return make('li.before', { title }, number, make('span.hidden', title));
  }
  if (!state) return make('li', { ariaHidden: 'true' }, number);
  const counts = worstFirst.flatMap((one) => {
    const found = occurrences.filter((occurrence) => occurrence.state === one).length;
    return found === 0 ? [] : [occurrences.length === 1 ? translate('due', one) : `${found} × ${translate('due', one)}`];
  });
  const words = `${dayFormat.format(day)}: ${counts.join(', ')}`;
  return make(
    'li',
    { className: stateKinds[state], title: words },
    number,
    make('span.sign', { ariaHidden: 'true' }, signs[state]),
    make('span.hidden', words),
  );
}
