import { make } from '../../../shared/dom.ts';
import { previewText } from '../preview-text.ts';
import { pause } from '../turns.ts';
import { scrollable } from './scrollable.ts';
import { readSeparatedValues } from './separated-values.ts';

const mostRows = 1000;
const mostColumns = 100;
const mostCells = 10_000;

/** Characters of a value that are shown. */
const mostCharacters = 500;

/**
 * Shows separated values as a table: the first rows and columns.
 *
 * @param isWhole whether the text is the whole file
 * @returns undefined when there is nothing to show
 */
export async function showTable(source: string, isWhole: boolean, signal: AbortSignal): Promise<Node | undefined> {
  const { records, isCut } = readSeparatedValues(source, mostRows + 1, isWhole);
  const [names, ...rows] = records;
  if (names === undefined) return undefined;
  const width = Math.max(...records.map((record) => record.length));
  const columns = Math.min(width, mostColumns);
  const most = Math.min(mostRows, Math.floor(mostCells / columns));
  const body = make('tbody');
  for (const row of rows.slice(0, most)) {
    body.append(cells(row, columns, 'td'));
    await pause(signal);
  }
  const hints = [
    (isCut || rows.length > most) &&
      (rows.length === 0 ? previewText('previewCut') : previewText('firstRows', { count: Math.min(rows.length, most) })),
    width > columns && previewText('firstColumns', { count: columns }),
  ];
  const shown = hints.filter((hint) => hint !== false).join(' ');
  const table = make('table', {}, make('thead', {}, cells(names, columns, 'th')), body);
  return make(
    'div',
    { className: 'values' },
    shown !== '' && make('p', { className: 'hint' }, shown),
    scrollable(table, previewText('table')),
  );
}

function cells(record: readonly string[], columns: number, name: 'td' | 'th'): HTMLElement {
  const row = make('tr');
  for (let index = 0; index < columns; index++) {
    const value = record[index] ?? '';
    const isNumber = name === 'td' && /^[-+]?[\d.,\s]*\d%?$/.test(value) && value.length < 40;
    const shown = value.length > mostCharacters ? `${value.slice(0, mostCharacters)}…` : value;
    row.append(make(shown.trim() === '' ? 'td' : name, { className: isNumber ? 'right' : '' }, shown));
  }
  return row;
}
