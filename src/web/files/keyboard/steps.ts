import { byId } from '../../shared/dom.ts';
import { tilesOfLine } from '../rows/row-window.ts';
import { focusedRow, type Row, shownRows } from '../rows/rows.ts';

/** Where a key leads from the row that has the focus. @returns undefined when it leads nowhere */
export type Step = (rows: readonly Row[], from: Row | undefined) => Row | undefined;

function by(count: number): Step {
  return (rows, from) => {
    const at = from ? rows.indexOf(from) + count : count > 0 ? 0 : rows.length - 1;
    return rows[Math.max(0, Math.min(at, rows.length - 1))];
  };
}

/** To the tile above or below; the nearest one where a line is shorter. */
function line(direction: 1 | -1): Step {
  return (rows, from) => {
    if (!from) return by(direction)(rows, from);
    const tiles = tilesOfLine();
    const [at, last] = [rows.indexOf(from), rows.length - 1];
    const next = at + direction * tiles;
    const hasNext = next >= 0 && Math.floor(Math.min(next, last) / tiles) !== Math.floor(at / tiles);
    return hasNext ? rows[Math.min(next, last)] : from;
  };
}

const inAList: Readonly<Record<string, Step>> = { ArrowDown: by(1), ArrowUp: by(-1) };
const inAGrid: Readonly<Record<string, Step>> = { ArrowDown: line(1), ArrowUp: line(-1), ArrowRight: by(1), ArrowLeft: by(-1) };
const toTheEnds: Readonly<Record<string, Step>> = { Home: (rows) => rows[0], End: (rows) => rows.at(-1) };

/**
 * The row that a key leads to.
 *
 * @returns undefined when the key leads nowhere, or there is no row
 */
export function stepTo(key: string): Row | undefined {
  const from = focusedRow();
  const arrows = byId('list').classList.contains('grid') ? inAGrid : inAList;
  // Home and End are the page's own until a row has the focus; so are the arrows to the sides.
  const isFree = from !== undefined || key === 'ArrowDown' || key === 'ArrowUp';
  const step = isFree ? (arrows[key] ?? toTheEnds[key]) : undefined;
  return step?.(shownRows(), from);
}
