import type { ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { type Child, iconButton, make, makeButton } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { badge } from '../section.ts';
import { mayChange } from '../session.ts';
import { dueElement, numberText } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import {
  act,
  actionsColumn,
  dueDay,
  dueText,
  excuseAll,
  fileList,
  grouped,
  isMiss,
  occurrenceKey,
  showState,
  stateKinds,
  worstFirst,
} from './occurrences.ts';

/** A row: one due time, or all due times of a group. */
interface Row {
  all: readonly [ToldOccurrence, ...ToldOccurrence[]];
  /** Whether the row is for one of several due times. Such rows appear below the row of their group when that row is opened. */
  isInner: boolean;
}

/**
 * Builds a table with a row for each group of due times. If a group has several due times, a button in its row shows each of them in its own
 * row.
 *
 * @param groupOf returns the key of the group of a due time; a group has due times of one expectation only
 * @param nameOf shows the name of a group, in a column of its own; without it, the due times name the group
 * @param reload called after an action
 */
export function dueTable(
  caption: string,
  groupOf: (one: ToldOccurrence) => string,
  reload: () => Promise<void>,
  nameOf?: (one: ToldOccurrence) => HTMLElement,
) {
  const opened = new Set<string>();
  let occurrences: readonly ToldOccurrence[] = [];
  const opener = ({ all: [one, ...others], isInner }: Row): Child => {
    if (isInner || others.length === 0) return undefined;
    const group = groupOf(one);
    const button = iconButton(dueText('dueTimes', { count: others.length + 1 }), opened.has(group) ? 'down' : 'right', () => {
      if (!opened.delete(group)) opened.add(group);
      render();
    });
    button.classList.add('opens');
    button.ariaExpanded = String(opened.has(group));
    return button;
  };
  const nameColumn: Column<Row> | undefined = nameOf && {
    title: text('name'),
    cell: (row) => {
      const [one] = row.all;
      return row.isInner ? make('span.hidden', nameOf(one)) : make('span.opened', opener(row), nameOf(one));
    },
  };
  const due: Column<Row> = {
    title: dueText('due'),
    cell: (row) => {
      if (nameOf) return dueTimes(row.all);
      return make(row.isInner ? 'span.inner' : 'span.opened', opener(row), dueTimes(row.all));
    },
    className: 'due-times',
  };
  const columns: Column<Row>[] = [
    ...(nameColumn ? [nameColumn] : []),
    due,
    { title: dueText('dueState'), cell: ({ all }) => states(all), className: 'narrow' },
    { title: text('details'), cell: ({ all: [one, ...others] }) => others.length === 0 && fileList(one), className: 'whole' },
  ];
  const single = actionsColumn(reload);
  const action: Column<Row> = {
    ...single,
    cell: ({ all }) => {
      const [one, ...others] = all;
      if (others.length === 0) return single.cell(one);
      if (!all.some(isMiss)) return undefined;
      // This button is kept when the table shows new data. So the missing files are determined only when the button is pressed.
      const misses = () => occurrences.filter((each) => groupOf(each) === groupOf(one) && isMiss(each));
      const ask = act(() => excuseAll(misses()), reload);
      return make('div.row', makeButton(dueText('excuseAll'), undefined, ask, 'small'));
    },
  };
  const key = ({ all: [one], isInner }: Row) => (isInner ? occurrenceKey(one) : groupOf(one));
  const table = makeTable<Row>(caption, dueText('dueNothing'), mayChange() ? [...columns, action] : columns, key);
  const render = () => {
    table.show(
      [...grouped(occurrences, groupOf)].flatMap(([group, [first, ...others]]): Row[] => {
        if (!first) return [];
        const inner = others.length > 0 && opened.has(group) ? [first, ...others] : [];
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

function dueTimes(all: Row['all']): HTMLElement {
  const [first, last] = [all[0], all[all.length - 1] as ToldOccurrence].sort((one, other) => Date.parse(one.due) - Date.parse(other.due));
  if (!first || !last || all.length === 1) return dueElement(all[0].due);
  return make('span', dueElement(first.due), ' – ', dueElement(last.due, dueDay(first) === dueDay(last)));
}

function states(all: Row['all']): Child {
  const [one, ...others] = all;
  if (others.length === 0) return showState(one);
  const watched = all.filter((each) => each.watched !== false);
  const counts = worstFirst.flatMap((state) => {
    const count = watched.filter((each) => each.state === state).length;
    return count === 0 ? [] : [badge(`${numberText(count)} × ${dueText(`due_${state}`)}`, stateKinds[state])];
  });
  const before = all.length - watched.length;
  return make('span.badges', ...counts, before > 0 && badge(`${numberText(before)} × ${dueText('dueNotWatched')}`));
}
