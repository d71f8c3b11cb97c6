import type { OccurrenceHistory, Punctuality, ToldExpectation, ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { make } from '../../shared/dom.ts';
import { durationText, formatTag } from '../../shared/locale.ts';
import { localTime } from '../fields.ts';
import { text } from '../language.ts';
import { ask } from '../request.ts';
import { actionButton, facts, heading, loadingLine, panel, type Stage, wayTo } from '../section.ts';
import { datum, dueElement, numberText } from '../shown.ts';
import { dueTable } from './due-table.ts';
import { describeSender, dueDay, dueText, grouped, stateKinds, worstFirst } from './occurrences.ts';

const days = 90;

/** Shows one expectation: what is due and when, its calendar, the usual arrival of its files, and its history. */
export async function showExpectation({ main, route, signal }: Stage): Promise<void> {
  const table = dueTable(dueText('dueHistory'), dueDay, () => load());
  const title = make('span', datum(route.id));
  const [summary, months, figures] = [make('div'), make('div'), make('div')];
  const panels = [
    panel(text('summary'), summary),
    panel(dueText('dueCalendar', { days }), months),
    panel(dueText('duePunctuality'), make('p.hint', dueText('duePunctualityHint')), figures),
    panel(dueText('dueHistory'), table.element),
  ];
  for (const one of panels) one.hidden = true;
  const loading = loadingLine();
  const load = async () => {
    const url = `/api/expectations/${encodeURIComponent(route.id)}/occurrences?days=${days}`;
    const [{ expectations }, { occurrences, punctuality, options }] = await Promise.all([
      ask<{ expectations: ToldExpectation[] }>('GET', '/api/expectations', { signal }),
      ask<OccurrenceHistory>('GET', url, { signal }),
    ]);
    const own = expectations.find(({ expectation }) => expectation === route.id);
    title.replaceChildren(datum(own?.name ?? route.id));
    summary.replaceChildren(...expected(options, own, occurrences));
    months.replaceChildren(occurrences.length > 0 ? calendar(occurrences) : make('p.nothing', dueText('dueNothing')));
    figures.replaceChildren(punctuality ? arrivals(punctuality, occurrences) : make('p.nothing', dueText('dueNeverCame')));
    // Only the calendar shows the days before the expectation was active. In the table, these days would be most rows of a new expectation.
    table.show(occurrences.filter((one) => one.watched !== false));
    loading.remove();
    for (const one of panels) one.hidden = false;
  };
  const head = heading('', actionButton(text('heldRefresh'), 'recent', load, 'compact'));
  head.querySelector('h1')?.replaceChildren(title);
  main.append(wayTo('expectations'), head, loading, ...panels);
  await load();
}

/**
 * Shows which file is due, from whom and when. The schedule is in its own time zone, which is named; all other times are those of the
 * reader. If these differ, a note says so.
 */
function expected(
  { path, schedule, every, from, time_zone, grace }: OccurrenceHistory['options'],
  own: ToldExpectation | undefined,
  occurrences: readonly ToldOccurrence[],
): HTMLElement[] {
  // The words of the configuration, like those of a cron expression, are not translated.
  const times = datum(every === null ? schedule : `every ${optionPeriod(every)} from ${from ?? '00:00'}`, 'code');
  const isElsewhere = occurrences.some(({ due }) => localTime(due) !== due.slice(0, 19));
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const next = own?.next && own.enabled ? dueElement(own.next.due) : undefined;
  return [
    facts(
      [text('path'), datum(path, 'code')],
      [text('account'), own && datum(describeSender(own))],
      [dueText('dueSchedule'), make('span', times, ' ', make('span.hint', datum(time_zone)))],
      [dueText('dueGrace'), grace > 0 && periodText(grace)],
      [dueText('dueNext'), next],
    ),
    ...(isElsewhere ? [make('p.hint.zones', dueText('dueYourTimes', { zone }))] : []),
  ];
}

/** Formats a period as in the configuration, such as `1d` or `90m`. */
function optionPeriod(seconds: number): string {
  const units = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'm'],
    [1, 's'],
  ] as const;
  const [length, unit] = units.find(([each]) => seconds % each === 0) ?? [1, 's'];
  return `${seconds / length}${unit}`;
}

/** Formats a period in whole days if possible. */
function periodText(seconds: number): string {
  const daysLong = seconds / 86_400;
  if (!Number.isInteger(daysLong)) return durationText(seconds);
  return new Intl.NumberFormat(formatTag, { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(daysLong);
}

/** Shows how long before or after the due time files arrived. If the due time is the same every day, the time of day is shown, too. */
function arrivals({ count, ...at }: Punctuality, occurrences: readonly ToldOccurrence[]): HTMLElement {
  const clocks = new Set(occurrences.map(({ due }) => localTime(due).slice(11, 16)));
  const [clock = ''] = clocks;
  const shown = (seconds: number) => {
    const by = dueText(seconds < 0 ? 'dueBefore' : 'dueAfter', { time: hours(Math.abs(seconds)) });
    return clocks.size === 1 ? `${clockAfter(clock, seconds)} (${by})` : by;
  };
  return facts(
    [dueText('dueMedian'), shown(at.median)],
    [dueText('dueHalf'), dueText('dueFromTo', { from: shown(at.lower_quartile), to: shown(at.upper_quartile) })],
    [dueText('dueNineInTen'), shown(at.ninth_decile)],
    [dueText('dueEarliest'), shown(at.earliest)],
    [dueText('dueLatest'), shown(at.latest)],
    [dueText('dueCame'), numberText(count)],
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

// The calendar's days are those of the reader, but their names are computed in UTC, so they are formatted in UTC, too.
const monthFormat = new Intl.DateTimeFormat(formatTag, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayFormat = new Intl.DateTimeFormat(formatTag, { dateStyle: 'long', timeZone: 'UTC' });
const weekdayFormat = new Intl.DateTimeFormat(formatTag, { weekday: 'narrow', timeZone: 'UTC' });

/** Shows the days of occurrences as months, with the state of each day. */
function calendar(occurrences: readonly ToldOccurrence[]): HTMLElement {
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
    const title = `${dayFormat.format(day)}: ${dueText('dueNotWatched')}`;
    return make('li.before', { title }, number, make('span.hidden', title));
  }
  if (!state) return make('li', { ariaHidden: 'true' }, number);
  const counts = worstFirst.flatMap((one) => {
    const found = occurrences.filter((occurrence) => occurrence.state === one).length;
    return found === 0 ? [] : [occurrences.length === 1 ? dueText(`due_${one}`) : `${found} × ${dueText(`due_${one}`)}`];
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
