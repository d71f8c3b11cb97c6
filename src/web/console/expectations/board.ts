import type { OccurrenceRun, ToldExpectation } from '../../../expectations/told-occurrence.ts';
import { make } from '../../shared/dom.ts';
import { ofAccount } from '../fields.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { hashFor } from '../route.ts';
import { actionButton, heading, liveMark, panel, type Stage, showCount, tell } from '../section.ts';
import { datum, dueElement } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import { dueTable } from './due-table.ts';
import { askRecent, countOf, describeSender, dueText, isMiss, readerZone, showState } from './occurrences.ts';

/** Pause between an event and the request for the new state. Many excuses at once cause many events. */
const pauseMs = 500;

/** Shows the files that are due today, then what is missing from previous days, then the schedules of all expectations. */
export async function showBoard({ main, route: { query }, signal }: Stage): Promise<void> {
  const account = query.get('account');
  const senders = new Map<string, string>();
  const owners = new Map<string, string | null>();
  const reload = () => load();
  const nameOf = ({ expectation, name }: OccurrenceRun) => {
    const link = make('a', { href: hashFor('expectations', expectation) }, datum(name));
    return make('span', link, ' ', make('span.hint', senders.get(expectation) ?? ''));
  };
  const options = { groupOf: ({ expectation }: OccurrenceRun) => expectation, nameOf, reload };
  const [today, open] = [dueTable(dueText('dueToday'), { ...options, isToday: true }), dueTable(dueText('dueOpen'), options)];
  const schedules = makeTable<ToldExpectation>(
    dueText('dueSchedules'),
    dueText('dueNone'),
    scheduleColumns,
    ({ expectation }) => expectation,
  );
  const todayPanel = panel(dueText('dueToday'), make('p.hint', dueText('dueAllYourTimes', { zone: readerZone })), today.element);
  const openPanel = panel(dueText('dueOpen'), open.element);
  const schedulePanel = panel(dueText('dueSchedules'), schedules.element);
  const cut = make('p.hint', { hidden: true });

  const load = async () => {
    const { expectations, runs: all, total, todayMs } = await askRecent(signal);
    for (const one of expectations) {
      senders.set(one.expectation, describeSender(one));
      owners.set(one.expectation, one.account);
    }
    const isOfToday = ({ first }: OccurrenceRun) => Date.parse(first) >= todayMs;
    const isWanted = ({ expectation }: OccurrenceRun | ToldExpectation) => account === null || owners.get(expectation) === account;
    const runs = all.filter(isWanted);
    const misses = runs.filter(isMiss);
    showCount('expectations', countOf(all.filter(isMiss)));
    const lacking = new Set(misses.map(({ expectation }) => expectation));
    const earlier = misses.filter((one) => !isOfToday(one));
    const isLacking = ({ expectation }: OccurrenceRun) => lacking.has(expectation);
    const ofToday = runs.filter(isOfToday);
    await Promise.all([today.show([...ofToday.filter(isLacking), ...ofToday.filter((one) => !isLacking(one))]), open.show(earlier)]);
    const wanted = expectations.filter(isWanted);
    schedules.show(wanted);
    openPanel.hidden = earlier.length === 0;
    schedulePanel.hidden = expectations.length > 0 && wanted.length === 0;
    cut.hidden = countOf(all) === total;
    cut.textContent = text('heldMore', { shown: countOf(all), total });
  };
  await load();
  const refresh = actionButton(text('heldRefresh'), 'refresh', load, 'compact');
  main.replaceChildren(
    heading(text('expectations'), liveMark(), refresh),
    ...ofAccount('expectations', query),
    todayPanel,
    openPanel,
    schedulePanel,
    cut,
  );
  let isPlanned = false;
  const news = () => {
    if (isPlanned) return;
    isPlanned = true;
    setTimeout(() => {
      isPlanned = false;
      if (!signal.aborted) void tell(load());
    }, pauseMs);
  };
  listen('/api/events/live?group=expectation', signal, { messages: { message: news, lag: news } });
}

const scheduleColumns: readonly Column<ToldExpectation>[] = [
  {
    title: text('name'),
    cell: ({ expectation, name }) => make('a', { href: hashFor('expectations', expectation) }, datum(name)),
    className: 'title',
  },
  { title: text('account'), cell: (one) => datum(describeSender(one)) },
  { title: dueText('dueLast'), cell: ({ last }) => (last ? make('span.badges', dueElement(last.due), showState(last)) : '–') },
  {
    title: dueText('dueNext'),
    cell: ({ enabled, next }) => (next ? dueElement(next.due) : enabled ? '–' : text('state_disabled')),
    className: 'narrow',
  },
];
