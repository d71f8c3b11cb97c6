import type { ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { type Child, iconButton, make, makeButton } from '../../shared/dom.ts';
import { text, translate } from '../language.ts';
import { hashFor } from '../route.ts';
import { badge } from '../section.ts';
import { mayChange } from '../session.ts';
import { datum, dueElement, numberText } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import {
  act,
  actionsColumn,
  excuseAll,
  fileList,
  grouped,
  isMiss,
  occurrenceKey,
  showState,
  stateKinds,
  worstFirst,
} from './occurrences.ts';

/** A row of the board: one due time, or all due times of an expectation. */
interface Row {
  /** The due times in their order. */
  all: readonly [ToldOccurrence, ...ToldOccurrence[]];
  /** Whether the row is for one of several due times. Such rows appear below the row of their expectation when that row is opened. */
  isInner: boolean;
}

/**
 * Builds a table with a row for each expectation. If an expectation has several due times, a button in its row shows them, each in a row of
 * its own.
 *
 * @param senderOf returns who sends the files of an expectation
 * @param reload called after an action
 */
export function boardTable(caption: string, senderOf: (expectation: string) => string, reload: () => Promise<void>) {
  const opened = new Set<string>();
  let occurrences: readonly ToldOccurrence[] = [];
  const opener = ({ all: [{ expectation }, ...others], isInner }: Row): Child => {
    if (isInner || others.length === 0) return undefined;
    const button = iconButton(text('dueTimes', { count: others.length + 1 }), opened.has(expectation) ? 'down' : 'right', () => {
      if (!opened.delete(expectation)) opened.add(expectation);
      render();
    });
    button.classList.add('opens');
    button.ariaExpanded = String(opened.has(expectation));
    return button;
  };
  const columns: Column<Row>[] = [
    {
      title: text('name'),
      cell: (row) => {
        const [{ expectation, name }] = row.all;
        if (row.isInner) return make('span.hidden', datum(name));
        const link = make('a', { href: hashFor('expectations', expectation) }, datum(name));
        return make('span.opened', opener(row), make('span', link, ' ', make('span.hint', senderOf(expectation))));
      },
    },
    { title: text('due'), cell: ({ all }) => dueTimes(all), className: 'due-times' },
    { title: text('dueState'), cell: ({ all }) => states(all), className: 'narrow' },
    { title: text('dueFiles'), cell: ({ all: [one, ...others] }) => others.length === 0 && fileList(one), className: 'whole' },
  ];
  const single = actionsColumn(reload);
  const action: Column<Row> = {
    ...single,
    cell: ({ all }) => {
      const [one, ...others] = all;
      if (others.length === 0) return single.cell(one);
      if (!all.some(isMiss)) return undefined;
      // When the table is shown again, this button is kept. So the missing files are determined only when the button is pressed.
      const misses = () => occurrences.filter((each) => each.expectation === one.expectation && isMiss(each));
      const ask = act(() => excuseAll(misses()), reload);
      return make('div.row', makeButton(text('excuseAll'), undefined, ask, 'small'));
    },
  };
  const key = ({ all: [one], isInner }: Row) => (isInner ? occurrenceKey(one) : one.expectation);
  const table = makeTable<Row>(caption, text('dueNothing'), mayChange() ? [...columns, action] : columns, key);
  const render = () => {
    const groups = grouped(occurrences, ({ expectation }) => expectation);
    table.show(
      [...groups].flatMap(([expectation, [first, ...others]]): Row[] => {
        if (!first) return [];
        const inner = others.length > 0 && opened.has(expectation) ? [first, ...others] : [];
        return [{ all: [first, ...others], isInner: false }, ...inner.map((one): Row => ({ all: [one], isInner: true }))];
      }),
    );
  };
  return {
    element: table.element,
    show(shown: readonly ToldOccurrence[]): void {
      occurrences = shown;
      render();
    },
  };
}

/** Shows a due time; of several, the first and the last. */
function dueTimes([first, ...others]: Row['all']): Child {
  const last = others.at(-1);
  return last ? make('span', dueElement(first.due), ' – ', dueElement(last.due)) : dueElement(first.due);
}

/** Shows the state of a due time; of several, how many have which state. */
function states(all: Row['all']): Child {
  const [one, ...others] = all;
  if (others.length === 0) return showState(one);
  const watched = all.filter((each) => each.watched !== false);
  const counts = worstFirst.flatMap((state) => {
    const count = watched.filter((each) => each.state === state).length;
    return count === 0 ? [] : [badge(`${numberText(count)} × ${translate('due', state)}`, stateKinds[state])];
  });
  const before = all.length - watched.length;
  return make('span.badges', ...counts, before > 0 && badge(`${numberText(before)} × ${text('dueNotWatched')}`));
}
