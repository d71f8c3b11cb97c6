import type { ToldExpectation, ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { listen } from '../live.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { actionButton, heading, loadingLine, panel, type Stage, tell } from '../section.ts';
import { clear, datum, timeElement } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import { dueColumn, grouped, nameColumn, occurrenceKey, stateColumns } from './occurrences.ts';

const dayMs = 86_400_000;

/** Missing files of this many days before today are shown, too. */
const openDays = 7;

/** Shows the files that are due today, by account, and files that are missing from previous days. */
export async function showBoard({ main, signal }: Stage): Promise<void> {
  const reload = () => load();
  const columns = [dueColumn, nameColumn, ...stateColumns(reload)];
  const table = (caption: string) => makeTable<ToldOccurrence>(caption, text('dueNothing'), columns, occurrenceKey);
  const open = table(text('dueOpen'));
  const openPanel = panel(text('dueOpen'), open.element);
  openPanel.hidden = true;
  const today = make('div', panel(text('dueToday'), loadingLine()));
  const all = makeTable<ToldExpectation>(text('dueAll'), text('dueNone'), allColumns, ({ expectation }) => expectation);
  const cut = make('p.hint', { hidden: true });
  const loading = loadingLine();
  const tables = new Map<string, ReturnType<typeof table>>();

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
    const ofToday = occurrences.filter(({ due }) => Date.parse(due) >= todayMs);
    const missing = occurrences.filter((one) => Date.parse(one.due) < todayMs && (one.state === 'missing' || one.state === 'malformed'));
    openPanel.hidden = missing.length === 0;
    open.show(missing.reverse());
    cut.hidden = occurrences.length === total;
    cut.textContent = text('heldMore', { shown: occurrences.length, total });
    const senders = new Map(expectations.map((one) => [one.expectation, describeSender(one)]));
    const groups = grouped(ofToday, ({ expectation }) => senders.get(expectation) ?? '');
    const panels = [...groups]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([sender, due]) => {
        const shown = tables.get(sender) ?? table(sender);
        tables.set(sender, shown);
        shown.show(due);
        return shown.element.closest<HTMLElement>('.panel') ?? panel(sender, shown.element);
      });
    today.replaceChildren(...(panels.length > 0 ? panels : [panel(text('dueToday'), make('p.nothing', text('dueNothing')))]));
    all.show(expectations);
    loading.remove();
  };
  main.append(
    heading(text('expectations'), actionButton(text('heldRefresh'), 'recent', load, 'compact')),
    openPanel,
    make('h2', text('dueToday')),
    today,
    cut,
    panel(text('dueAll'), loading, all.element),
  );
  await load();
  const news = () => void tell(load());
  listen('/api/events/live?group=expectation', signal, { messages: { message: news, lag: news } });
}

/** Returns a text that names the account or group whose files are expected. */
function describeSender({ account, group }: ToldExpectation): string {
  if (account !== null) return clear(account);
  return group === null ? text('dueAnybody') : text('dueOfGroup', { group: clear(group) });
}

const allColumns: readonly Column<ToldExpectation>[] = [
  {
    title: text('name'),
    cell: ({ expectation, name }) => make('a', { href: hashFor('expectations', expectation) }, datum(name)),
  },
  { title: text('account'), cell: (one) => datum(describeSender(one)) },
  { title: text('dueLast'), cell: ({ last }) => (last ? timeElement(last.due) : '–'), className: 'narrow' },
  {
    title: text('dueNext'),
    cell: ({ enabled, next }) => (next ? timeElement(next.due) : enabled ? '–' : text('state_disabled')),
    className: 'narrow',
  },
];
