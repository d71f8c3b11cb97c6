import { comparableName, normalised } from '../rows/filter.ts';
import { focusedRow, focusRow, shownRows } from '../rows/rows.ts';

/** Time in milliseconds after which a letter begins a new name. */
const pauseMs = 1000;

let typed = '';
let typedAtMs = 0;

/** Whether letters are being typed, so that a space is one of them. */
export function isTypingAhead(): boolean {
  return typed !== '' && Date.now() - typedAtMs < pauseMs;
}

/** Goes to the next name that begins with the letters typed so far; the same letter again goes on to the next name with it. */
export function typeAhead(key: string): void {
  const letter = normalised(key);
  typed = isTypingAhead() ? typed + letter : letter;
  typedAtMs = Date.now();
  const isOneLetter = [...typed].every((other) => other === letter);
  const wanted = isOneLetter ? letter : typed;
  const rows = shownRows();
  const from = focusedRow();
  const at = (from ? rows.indexOf(from) : -1) + (isOneLetter ? 1 : 0);
  const ordered = [...rows.slice(Math.max(at, 0)), ...rows.slice(0, Math.max(at, 0))];
  const row = ordered.find((candidate) => comparableName(candidate).startsWith(wanted));
  if (row) focusRow(row);
}
