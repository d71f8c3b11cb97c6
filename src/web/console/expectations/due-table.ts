import type { OccurrenceRun, ToldOccurrence } from '../../../expectations/told-occurrence.ts';
import { type Child, iconButton, make, makeButton } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { badge, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { datum, numberText } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import {
  act,
  actionsColumn,
  askSingly,
  countOf,
  dueDay,
  dueRange,
  dueText,
  excuseAll,
  fileList,
  grouped,
  isMiss,
  type Runs,
  showState,
  stateKinds,
  worstFirst,
} from './occurrences.ts';

/** Up to this number of due times in a row with the same state have their own rows in an opened day. */
const maxUnfolded = 3;

/** A row: the due times of a group, of a day, or of some time in which the state was the same; or one due time. */
interface Row {
  key: string;
  runs: Runs;
  /** 0 for a group. Rows of higher levels appear below the row that contains them, when that row is opened. */
  level: number;
  /** Whether the day is told by a row above, or by the heading. */
  isDayKnown: boolean;
}

interface DueTable {
  /** Returns the key of the group of some due times; a group has due times of one expectation only. */
  groupOf: (run: OccurrenceRun) => string;
  /** Shows the name of a group, in a column of its own; without it, the due times name the group. */
  nameOf?: (run: OccurrenceRun) => HTMLElement;
  /** Whether all due times are of today. */
  isToday?: boolean;
  /** Called after an action. */
  reload: () => Promise<void>;
}

/**
 * Builds a table with a row for each group of due times. A button in the row shows each day, or each due time of the day, in its own row;
 * the latest day comes first, and each day is read from morning to evening. The due times of a day are loaded when it is opened.
 */
export function dueTable(caption: string, { groupOf, nameOf, isToday = false, reload }: DueTable) {
  const opened = new Set<string>();
  let shown: readonly OccurrenceRun[] = [];
  let loaded: ReadonlyMap<string, readonly ToldOccurrence[]> = new Map();

  const opener = ({ key, runs }: Row): Child => {
    const count = countOf(runs);
    if (count === 1) return undefined;
    const button = iconButton(dueText('dueTimes', { count }), opened.has(key) ? 'down' : 'right', () => {
      if (!opened.delete(key)) opened.add(key);
      void tell(render(loaded));
    });
    button.classList.add('opens');
    button.ariaExpanded = String(opened.has(key));
    return button;
  };
  const name = ({ runs: [run] }: Row) => nameOf?.(run) ?? datum(run.name);
  const nameColumn: Column<Row> = {
    title: text('name'),
    cell: (row) => (row.level > 0 ? make('span.hidden', datum(row.runs[0].name)) : make('span.opened', opener(row), name(row))),
    className: 'due-name',
  };
  const due: Column<Row> = {
    title: dueText('due'),
    cell: (row) => {
      const times = dueRange(row.runs[0].first, (row.runs.at(-1) ?? row.runs[0]).last, row.isDayKnown);
      if (nameOf && row.level === 0) return times;
      const element = make('span.opened', opener(row), times);
      element.classList.toggle('inner', row.level > 0 && countOf(row.runs) === 1);
      element.classList.toggle('deeper', row.level > (nameOf ? 1 : 0));
      return element;
    },
    className: 'due-times',
  };
  const state: Column<Row> = {
    title: dueText('dueState'),
    cell: ({ runs }) => {
      const [{ occurrence }, ...others] = runs;
      return occurrence && others.length === 0 ? make('div.stacked', showState(occurrence), fileList(occurrence)) : states(runs);
    },
    className: 'due-state',
  };
  const single = actionsColumn(reload);
  const action: Column<Row> = {
    ...single,
    className: `${single.className} due-actions`,
    cell: ({ key, runs }) => {
      const [{ occurrence }, ...others] = runs;
      if (occurrence && others.length === 0) return single.cell(occurrence);
      const missing = countOf(runs.filter(isMiss));
      if (missing === 0) return undefined;
      // This button is kept when the table shows new data. So the missing files are determined only when the button is pressed.
      const misses = () => (table.find(key)?.runs ?? runs).filter(isMiss);
      const ask = act(async () => excuseAll(await askSingly(misses())), reload);
      return make('div.row', makeButton(dueText(missing === 1 ? 'excuse' : 'excuseAll'), undefined, ask, 'small'));
    },
  };
  const columns = [...(nameOf ? [nameColumn] : []), due, state, ...(mayChange() ? [action] : [])];
  const table = makeTable<Row>(caption, dueText('dueNothing'), columns, ({ key }) => key);
  table.element.classList.add('due-table');

  type Missing = Map<string, Runs>;
  /** Returns a row and, if it is opened, the rows below it. Opened days whose due times are not known are added to `missing`. */
  const rowsOf = (row: Row, known: typeof loaded, missing: Missing): Row[] => {
    const { key, runs, level } = row;
    if (countOf(runs) === 1 || !opened.has(key)) return [row];
    const days = [...grouped(runs, ({ first }) => dueDay(first))].reverse();
    if (days.length > 1)
      return [
        row,
        ...days.flatMap(([day, ofDay]) =>
          rowsOf({ key: `${key} ${day}`, runs: ofDay, level: level + 1, isDayKnown: false }, known, missing),
        ),
      ];
    const singles = known.get(key);
    if (!singles) missing.set(key, runs);
    return [row, ...sameStates(singles ?? []).flatMap((same) => unfolded(row, same))];
  };
  const unfolded = ({ key, level }: Row, same: Runs): Row[] => {
    const rows = same.map((one): Row => ({ key: `${key} ${one.first}`, runs: [one], level: level + 1, isDayKnown: true }));
    if (isMiss(same[0]) || same.length <= maxUnfolded) return rows;
    const folded: Row = { key: `${key} ${same[0].state} ${same[0].first}`, runs: same, level: level + 1, isDayKnown: true };
    return opened.has(folded.key) ? [folded, ...rows.map((one) => ({ ...one, level: level + 2 }))] : [folded];
  };
  const render = async (known: typeof loaded): Promise<void> => {
    for (let now = known; ; ) {
      const missing: Missing = new Map();
      const groups = [...grouped(shown, groupOf)];
      const rows = groups.flatMap(([key, runs]) => rowsOf({ key, runs, level: 0, isDayKnown: isToday }, now, missing));
      if (missing.size === 0) {
        loaded = now;
        table.show(rows);
        return;
      }
      const found = await Promise.all([...missing].map(async ([key, runs]) => [key, await askSingly(runs)] as const));
      now = new Map([...now, ...found]);
    }
  };
  return {
    element: table.element,
    /** Shows due times. Those of a group must be in the order of their times. */
    show(runs: readonly OccurrenceRun[]): Promise<void> {
      shown = runs;
      return render(new Map());
    },
  };
}

/** Groups due times in a row that have the same state. */
function sameStates(singles: readonly ToldOccurrence[]): Runs[] {
  const found: [OccurrenceRun, ...OccurrenceRun[]][] = [];
  for (const occurrence of singles) {
    const { expectation, name, due, state, watched } = occurrence;
    const run: OccurrenceRun = {
      expectation,
      name,
      state,
      count: 1,
      first: due,
      last: due,
      occurrence,
      ...(watched === false && { watched }),
    };
    const before = found.at(-1);
    if (before && before[0].state === state && before[0].watched === watched) before.push(run);
    else found.push([run]);
  }
  return found;
}

/** Shows how many due times have each state. */
export function states(runs: readonly OccurrenceRun[]): HTMLElement {
  const watched = runs.filter((each) => each.watched !== false);
  const counts = worstFirst.flatMap((state) => {
    const count = countOf(watched.filter((each) => each.state === state));
    return count === 0 ? [] : [badge(`${numberText(count)} × ${dueText(`due_${state}`)}`, stateKinds[state])];
  });
  const before = countOf(runs) - countOf(watched);
  return make('span.badges', ...counts, before > 0 && badge(`${numberText(before)} × ${dueText('dueNotWatched')}`));
}
