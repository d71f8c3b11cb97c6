import { byId } from '../../shared/dom.ts';
import { growsOlder, showDate, timeOf, wholeTime } from '../dates.ts';
import { inFrames } from '../frames.ts';
import { isWritten, type Row } from './row-cells.ts';
import { allRows, whenRowIsWritten } from './rows.ts';

const minuteMs = 60_000;

let growingOlder: ReturnType<typeof setInterval> | undefined;

/** Writes the times of rows as the reader says them, keeps them true, and tells the whole time where the pointer rests. */
export function startRowDates(): void {
  whenRowIsWritten(showTime);
  clearInterval(growingOlder);
  growingOlder = setInterval(() => inFrames(allRows().filter(isWritten), renewTime), minuteMs);
  // A tooltip for each row would take longer to write than its date.
  byId('list').addEventListener('pointerover', ({ target }) => {
    const shown = target instanceof Element ? target.closest<HTMLElement>('td[data-time] time') : null;
    const cell = shown?.closest('td');
    if (shown && cell) shown.title = wholeTime(timeOf(cell));
  });
}

function showTime(row: Row): void {
  const cell = timeCell(row);
  if (cell) showDate(cell);
}

function renewTime(row: Row): void {
  const cell = timeCell(row);
  if (cell && growsOlder(cell)) showDate(cell);
}

function timeCell(row: Row): HTMLElement | null {
  return row.querySelector<HTMLElement>('[data-time]');
}
