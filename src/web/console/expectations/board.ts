import type { ToldExpectation, ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { actionButton, heading, loadingLine, panel, type Stage, tell } from '../section.ts';
import { datum, dueElement } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import { dueTable } from './due-table.ts';
import { describeSender, dueText, isMiss } from './occurrences.ts';

const dayMs = 86_400_000;

/** Missing files of this many days before today are shown, too. */
const openDays = 7;

/** Pause between an event and the request for the new state. Many excuses at once cause many events. */
const pauseMs = 500;

/** Shows the files that are due today, then what is missing from previous days, then the expectations without a missing file. */
export async function showBoard({ main, signal }: Stage): Promise<void> {
  const senders = new Map<string, string>();
  const reload = () => load();
  const nameOf = ({ expectation, name }: ToldOccurrence) => {
    const link = make('a', { href: hashFor('expectations', expectation) }, datum(name));
    return make('span', link, ' ', make('span.hint', senders.get(expectation) ?? ''));
  };
  const table = (caption: string) => dueTable(caption, ({ expectation }) => expectation, reload, nameOf);
  const [today, open] = [table(dueText('dueToday')), table(dueText('dueOpen'))];
  const fine = makeTable<ToldExpectation>(dueText('dueFine'), dueText('dueNone'), fineColumns, ({ expectation }) => expectation);
  const todayPanel = panel(dueText('dueToday'), today.element);
  const openPanel = panel(dueText('dueOpen'), open.element);
  const finePanel = panel(dueText('dueFine'), fine.element);
  const panels = [todayPanel, openPanel, finePanel];
  for (const one of panels) one.hidden = true;
  const cut = make('p.hint', { hidden: true });
  const loading = loadingLine();

  const load = async () => {
    const midnight = new Date();
    midnight.setHours(0, 0, 0, 0);
    const todayMs = midnight.getTime();
    const since = new Date(todayMs - openDays * dayMs).toISOString();
    const until = new Date(midnight.setDate(midnight.getDate() + 1) - 1).toISOString();
    const [{ expectations }, { occurrences, total }] = await Promise.all([
      ask<{ expectations: ToldExpectation[] }>('GET', '/api/expectations', { signal }),
      ask<{ occurrences: ToldOccurrence[]; total: number }>('GET', withQuery('/api/occurrences', { since, until }), { signal }),
    ]);
    for (const one of expectations) senders.set(one.expectation, describeSender(one));
    const isOfToday = ({ due }: ToldOccurrence) => Date.parse(due) >= todayMs;
    const misses = occurrences.filter(isMiss);
    const lacking = new Set(misses.map(({ expectation }) => expectation));
    const earlier = misses.filter((one) => !isOfToday(one));
    const isFine = ({ expectation }: ToldExpectation) => !lacking.has(expectation);
    today.show(occurrences.filter(isOfToday));
    open.show(earlier);
    fine.show(expectations.filter(isFine));
    loading.remove();
    todayPanel.hidden = false;
    openPanel.hidden = earlier.length === 0;
    finePanel.hidden = expectations.length > 0 && !expectations.some(isFine);
    cut.hidden = occurrences.length === total;
    cut.textContent = text('heldMore', { shown: occurrences.length, total });
  };
  main.append(heading(text('expectations'), actionButton(text('heldRefresh'), 'refresh', load, 'compact')), loading, ...panels, cut);
  await load();
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

const fineColumns: readonly Column<ToldExpectation>[] = [
  {
    title: text('name'),
    cell: ({ expectation, name }) => make('a', { href: hashFor('expectations', expectation) }, datum(name)),
    className: 'title',
  },
  { title: text('account'), cell: (one) => datum(describeSender(one)) },
  { title: dueText('dueLast'), cell: ({ last }) => (last ? dueElement(last.due) : '–'), className: 'narrow' },
  {
    title: dueText('dueNext'),
    cell: ({ enabled, next }) => (next ? dueElement(next.due) : enabled ? '–' : text('state_disabled')),
    className: 'narrow',
  },
];
