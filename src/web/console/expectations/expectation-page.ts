import type {
  OccurrenceHistory,
  OccurrenceRun,
  Punctuality,
  ToldExpectation,
  ToldOccurrence,
} from '../../../expectations/told-occurrence.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { durationText, formatTag } from '../../shared/locale.ts';
import { localTime } from '../fields.ts';
import { colon, text } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { actionButton, facts, heading, panel, type Stage, wayTo } from '../section.ts';
import { mayChange } from '../session.ts';
import { datum, dueElement, listed, numberText } from '../shown.ts';
import { dueTable } from './due-table.ts';
import {
  act,
  askSingly,
  countOf,
  describeSender,
  dueDay,
  dueText,
  excuseAll,
  grouped,
  isMiss,
  readerZone,
  stateKinds,
  worstFirst,
} from './occurrences.ts';

const days = 90;

const dayOf = ({ first }: OccurrenceRun): string => dueDay(first);

/** Shows one expectation: what is due and when, its calendar, the usual arrival of its files, and its history. */
export async function showExpectation({ main, route, signal }: Stage): Promise<void> {
  const table = dueTable(dueText('dueHistory'), { groupOf: dayOf, reload: () => load() });
  const title = make('span', datum(route.id));
  const [summary, months, figures] = [make('div'), make('div'), make('div')];
  let misses: readonly OccurrenceRun[] = [];
  const excuse = makeButton(
    dueText('excuseAll'),
    undefined,
    act(
      async () => excuseAll(await askSingly(misses)),
      () => load(),
    ),
    'small',
  );
  const panels = [
    panel(text('summary'), summary),
    panel(dueText('dueCalendar', { days }), months),
    panel(dueText('duePunctuality'), make('p.hint', dueText('duePunctualityHint')), figures),
    make('section.panel', make('div.heading', make('h2', dueText('dueHistory')), excuse), table.element),
  ];
  const load = async () => {
    const url = withQuery(`/api/expectations/${encodeURIComponent(route.id)}/occurrences`, { days: String(days), by_day_in: readerZone });
    const [{ expectations }, { runs = [], punctuality, options }] = await Promise.all([
      ask<{ expectations: ToldExpectation[] }>('GET', '/api/expectations', { signal }),
      ask<OccurrenceHistory>('GET', url, { signal }),
    ]);
    const own = expectations.find(({ expectation }) => expectation === route.id);
    title.replaceChildren(datum(own?.name ?? route.id));
    summary.replaceChildren(...expected(options, own, runs));
    months.replaceChildren(runs.length > 0 ? calendar(runs) : make('p.nothing', dueText('dueNothing')));
    figures.replaceChildren(punctuality ? arrivals(punctuality, runs) : make('p.nothing', dueText('dueNeverCame')));
    // Only the calendar shows the days before the expectation was active. In the table, these days would be most rows of a new expectation.
    const byDay = [
      ...grouped(
        runs.filter(({ watched }) => watched !== false),
        dayOf,
      ).values(),
    ];
    await table.show(byDay.reverse().flat());
    misses = runs.filter(isMiss);
    excuse.hidden = countOf(misses) < 2 || !mayChange();
  };
  const head = heading('', actionButton(text('heldRefresh'), 'refresh', load, 'compact'));
  head.querySelector('h1')?.replaceChildren(title);
  await load();
  main.replaceChildren(wayTo('expectations'), head, ...panels);
}

/**
 * Shows which file is due, from whom and when. The schedule names its time zone. All other times are in the time zone of the reader. If the
 * two time zones differ, a note says so.
 */
function expected(
  { path, schedule, every, from, time_zone, grace }: OccurrenceHistory['options'],
  own: ToldExpectation | undefined,
  runs: readonly OccurrenceRun[],
): HTMLElement[] {
  const words = scheduleWords(schedule, every, from);
  const zoneHint = make('span.hint', ' ', datum(time_zone));
  const times = datum(every === null ? schedule : `every ${optionPeriod(every)} from ${from ?? '00:00'}`, 'code');
  const isElsewhere = runs.some(({ first }) => localTime(first) !== first.slice(0, 19));
  const next = own?.next && own.enabled ? dueElement(own.next.due) : undefined;
  return [
    facts(
      [text('path'), datum(path, 'code')],
      [text('account'), own && datum(describeSender(own))],
      [dueText('dueSchedule'), words === undefined ? make('span', times, zoneHint) : make('span', words, zoneHint, make('br'), times)],
      [dueText('dueGrace'), grace > 0 && periodText(grace)],
      [dueText('dueNext'), next],
    ),
    ...(isElsewhere ? [make('p.hint.zones', dueText('dueYourTimes', { zone: readerZone }))] : []),
  ];
}

/** Describes a simple schedule, by the clock of its time zone. @returns undefined for other schedules */
function scheduleWords(cron: string | null, every: number | null, from: string | null): string | undefined {
  const [hours = '0', minutes = '0'] = (from ?? '').split(':').filter(Boolean);
  if (every === 86_400) return dueText('dueDaily', { time: clockTime(hours, minutes) });
  const fields = (cron ?? '').trim().split(/\s+/);
  const { minute, hour, weekdays } =
    /^(?<minute>\d+|\*\/\d+) (?<hour>\d+(,\d+)*|\*|\*\/\d+) \* \* (?<weekdays>\*|\d([-,]\d)*)$/.exec(fields.join(' '))?.groups ?? {};
  const period = every ?? (minute && hour && weekdays === '*' ? cronPeriod(minute, hour) : undefined);
  if (period === 3600) return dueText('dueHourly');
  if (period !== undefined) return 86_400 % period === 0 ? dueText('dueEvery', { period: wholePeriod(period) }) : undefined;
  if (!Number.isInteger(Number(minute)) || !hour || hour.includes('*') || !weekdays) return undefined;
  const time = listed(hour.split(',').map((each) => clockTime(each, String(minute))));
  if (weekdays === '*') return dueText('dueDaily', { time });
  const range = /^(\d)-(\d)$/.exec(weekdays);
  if (range) return dueText('dueRange', { from: weekdayName(String(range[1])), to: weekdayName(String(range[2])), time });
  if (weekdays.includes('-')) return undefined;
  return dueText('dueWeekly', { days: listed(weekdays.split(',').map(weekdayName)), time });
}

/** Returns the seconds between due times if a cron expression repeats after some minutes or hours; undefined for any other expression. */
function cronPeriod(minute: string, hour: string): number | undefined {
  const [minutes, hours] = [minute, hour].map((each) => Number(/^\*\/(\d+)$/.exec(each)?.[1]));
  if (hour === '*' && minute === '0') return 3600;
  if (hour === '*' && minutes && 60 % minutes === 0) return minutes * 60;
  return minute === '0' && hours && 24 % hours === 0 ? hours * 3600 : undefined;
}

function clockTime(hours: string, minutes: string): string {
  return new Intl.DateTimeFormat(formatTag, { timeStyle: 'short', timeZone: 'UTC' }).format(
    Date.UTC(2024, 0, 1, Number(hours), Number(minutes)),
  );
}

/** Returns the name of a day of the week. @param day as in cron: 0 and 7 are Sunday */
function weekdayName(day: string): string {
  return new Intl.DateTimeFormat(formatTag, { weekday: 'long', timeZone: 'UTC' }).format(Date.UTC(2024, 0, 7 + Number(day)));
}

const units = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** Returns a period as a whole number of the longest possible unit. */
function inUnit(seconds: number) {
  const [length, unit] = units.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  return { value: seconds / length, unit };
}

/** Formats a period as in the configuration, such as `1d` or `90m`. */
function optionPeriod(seconds: number): string {
  const { value, unit } = inUnit(seconds);
  return `${value}${unit.charAt(0)}`;
}

/** Formats a period in words, such as `90 minutes`. */
function wholePeriod(seconds: number): string {
  const { value, unit } = inUnit(seconds);
  return unitText(value, unit, 'long');
}

function unitText(value: number, unit: string, unitDisplay: 'long' | 'short'): string {
  return new Intl.NumberFormat(formatTag, { style: 'unit', unit, unitDisplay }).format(value);
}

function periodText(seconds: number): string {
  return seconds % 86_400 === 0 ? wholePeriod(seconds) : durationText(seconds);
}

/** Shows how early or late files arrived. If the due time is the same every day, the time of day is shown, too. */
function arrivals({ count, ...at }: Punctuality, runs: readonly OccurrenceRun[]): HTMLElement {
  const clocks = new Set(runs.flatMap(({ first, last }) => [first, last]).map((due) => localTime(due).slice(11, 16)));
  const [clock = ''] = clocks;
  const shown = (seconds: number) => {
    const by = dueText(seconds < 0 ? 'dueBefore' : 'dueAfter', { time: distanceText(Math.abs(seconds)) });
    return clocks.size === 1 ? `${clockAfter(clock, seconds)} (${by})` : by;
  };
  const [from, to] = [shown(at.lower_quartile), shown(at.upper_quartile)];
  return facts(
    [dueText('dueMedian'), shown(at.median)],
    [dueText('dueHalf'), from === to ? from : dueText('dueFromTo', { from, to })],
    [dueText('dueNineInTen'), shown(at.ninth_decile)],
    [dueText('dueEarliest'), shown(at.earliest)],
    [dueText('dueLatest'), shown(at.latest)],
    [dueText('dueCame'), numberText(count)],
  );
}

/** Formats a time as hours and minutes in words, such as `2 hr 5 min`. */
function distanceText(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = [hours > 0 && unitText(hours, 'hour', 'short'), (hours === 0 || minutes > 0) && unitText(minutes, 'minute', 'short')];
  return parts.filter(Boolean).join(' ');
}

/** Returns the time of day this many seconds after `clock`, which is `HH:MM`. */
function clockAfter(clock: string, seconds: number): string {
  const [hour = 0, minute = 0] = clock.split(':').map(Number);
  const minutes = (Math.floor((((hour * 60 + minute) * 60 + seconds) / 60) % 1440) + 1440) % 1440;
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
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

// A day of the reader's time zone is represented by its midnight in UTC, so it is formatted in UTC.
const monthFormat = new Intl.DateTimeFormat(formatTag, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayFormat = new Intl.DateTimeFormat(formatTag, { dateStyle: 'long', timeZone: 'UTC' });
const weekdayFormat = new Intl.DateTimeFormat(formatTag, { weekday: 'narrow', timeZone: 'UTC' });

function calendar(runs: readonly OccurrenceRun[]): HTMLElement {
  const byDay = grouped(runs, dayOf);
  const days = [...byDay.keys()].sort();
  const months = new Set(days.map((day) => day.slice(0, 7)));
  const shown = [...months].reverse().map((month) => monthView(month, byDay, days[0] as string, days.at(-1) as string));
  return make('div', make('div.months', ...shown), legend(runs));
}

function legend(runs: readonly OccurrenceRun[]): HTMLElement {
  const sign = (className: string, shown: string, words: string) =>
    make('li', make('span', { className, ariaHidden: 'true' }, shown), words);
  const states = worstFirst.filter((state) => runs.some((one) => one.state === state && one.watched !== false));
  return make(
    'ul.signs',
    ...states.map((state) => sign(`sign ${stateKinds[state]}`, signs[state], dueText(`due_${state}`))),
    runs.some(({ watched }) => watched === false) && sign('sign before', '', dueText('dueNotWatched')),
    sign('sign', '7', dueText('dueFree')),
  );
}

function monthView(month: string, byDay: ReadonlyMap<string, readonly OccurrenceRun[]>, from: string, until: string): HTMLElement {
  const first = new Date(`${month}-01T00:00:00Z`);
  const count = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const weekdays = Array.from({ length: 7 }, (_, index) => weekdayFormat.format(Date.UTC(2024, 0, 1 + index)));
  const dates = Array.from({ length: count }, (_, index) => `${month}-${String(index + 1).padStart(2, '0')}`);
  const shown = dates
    .filter((day) => day >= from && day <= until)
    .map((day) => [new Date(`${day}T00:00:00Z`), byDay.get(day) ?? []] as const);
  const days = shown.map(([day, all]) => dayView(day, all));
  const [begin] = days;
  if (begin) begin.style.gridColumnStart = String((((shown[0]?.[0].getUTCDay() ?? 0) + 6) % 7) + 1);
  return make(
    'section.month',
    make('h3', monthFormat.format(first)),
    make('div.weekdays', { ariaHidden: 'true' }, ...weekdays.map((name) => make('span', name))),
    make('ol.days', ...days),
  );
}

function dayView(day: Date, all: readonly OccurrenceRun[]): HTMLElement {
  const number = make('span', { ariaHidden: 'true' }, String(day.getUTCDate()));
  const runs = all.filter(({ watched }) => watched !== false);
  const state = worstFirst.find((one) => runs.some((run) => run.state === one));
  if (!state && all.length > 0) {
    const title = `${dayFormat.format(day)}${colon}${dueText('dueNotWatched')}`;
    return make('li.before', { title }, number, make('span.hidden', title));
  }
  if (!state) return make('li', { ariaHidden: 'true' }, number);
  const counts = worstFirst.flatMap((one) => {
    const found = countOf(runs.filter((run) => run.state === one));
    return found === 0 ? [] : [countOf(runs) === 1 ? dueText(`due_${one}`) : `${found} × ${dueText(`due_${one}`)}`];
  });
  const words = `${dayFormat.format(day)}${colon}${counts.join(', ')}`;
  return make(
    'li',
    { className: stateKinds[state], title: words },
    number,
    make('span.sign', { ariaHidden: 'true' }, signs[state]),
    make('span.hidden', words),
  );
}
