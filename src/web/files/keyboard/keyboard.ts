import { byId, makeButton } from '../../shared/dom.ts';
import { addToMenu } from '../../shared/menu.ts';
import { deleteRows, undoLast } from '../actions/members.ts';
import { openRowMenu } from '../actions/row-menu.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { notDone, partFor } from '../navigation/folder-change.ts';
import { comparableName, focusFilter, normalised } from '../rows/filter.ts';
import { tilesOfLine } from '../rows/row-window.ts';
import { focusedRow, focusRow, type Row, shownRows } from '../rows/rows.ts';
import { clearSelection, extendSelection, rowsMeant, selectAll, toggleRow } from '../rows/selection.ts';

/** Storage key of the setting for single-key shortcuts. WCAG 2.2, 2.1.4 requires that they can be turned off. */
const storageKey = 'svc-shortcuts';

function hasShortcuts(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off';
  } catch {
    // Without storage, the shortcuts stay on.
    return true;
  }
}

/** Shows the keys in a dialog, whose code is loaded on demand. */
async function showHelp(): Promise<void> {
  const part = await partFor(
    'questions',
    () => import('../actions/questions.ts'),
    notDone(text('shortcuts')),
    () => void showHelp(),
  );
  await part?.showKeys(hasShortcuts(), (isOn) => localStorage.setItem(storageKey, isOn ? 'on' : 'off'));
}

/** Pause in milliseconds after which a letter starts a new search for a name. */
const pauseMs = 1000;

let typed = '';
let typedAtMs = 0;

/** Returns whether the user is typing a name, so that a space belongs to the name. */
function isTypingAhead(): boolean {
  return typed !== '' && Date.now() - typedAtMs < pauseMs;
}

/**
 * Moves the focus to the next name that begins with the typed letters. If the same letter is typed several times, the focus moves through
 * all names that begin with this letter.
 */
function typeAhead(key: string): void {
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

/** Returns the row to which a key moves the focus from the row `from`; undefined if there is none. */
type Step = (rows: readonly Row[], from: Row | undefined) => Row | undefined;

function by(count: number): Step {
  return (rows, from) => {
    const at = from ? rows.indexOf(from) + count : count > 0 ? 0 : rows.length - 1;
    return rows[Math.max(0, Math.min(at, rows.length - 1))];
  };
}

/** Moves the focus to the tile above or below. If the line below has too few tiles, moves the focus to its last tile. */
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

function stepTo(key: string): Row | undefined {
  const from = focusedRow();
  const arrows = byId('list').classList.contains('grid') ? inAGrid : inAList;
  // Until a row has the focus, Home, End and the left and right arrows keep their usual function.
  const isFree = from !== undefined || key === 'ArrowDown' || key === 'ArrowUp';
  const step = isFree ? (arrows[key] ?? toTheEnds[key]) : undefined;
  return step?.(shownRows(), from);
}

type KeyAction = (event: KeyboardEvent) => void;

const withControl: Readonly<Record<string, KeyAction>> = { a: () => selectAll(), z: () => void undoLast() };

const singleKeys: Readonly<Record<string, KeyAction>> = { '/': focusFilter, '?': () => void showHelp() };

/** Returns the action of a key that was pressed outside of fields; undefined if the browser must handle the key. */
function keyAction(event: KeyboardEvent): KeyAction | undefined {
  const { key, shiftKey } = event;
  if (event.altKey) return undefined;
  if (event.ctrlKey || event.metaKey) return shiftKey ? undefined : withControl[key.toLowerCase()];
  const row = focusedRow();
  if (row && (key === 'ContextMenu' || (shiftKey && key === 'F10'))) return () => openRowMenu(row);
  if (key === 'Escape') return () => clearSelection();
  if (key === 'Delete' && may('delete')) return () => void deleteRows(rowsMeant());
  const next = stepTo(key);
  if (next) return () => (shiftKey && row ? extendSelection(row, next) : focusRow(next));
  const isOnLink = row !== undefined && (event.target as Element).matches('a');
  if (key === ' ' && isOnLink && !isTypingAhead()) return () => toggleRow(row);
  if (!hasShortcuts() || key.length !== 1) return undefined;
  if (singleKeys[key]) return singleKeys[key];
  return row && (key !== ' ' || isOnLink) ? () => typeAhead(key) : undefined;
}

function onKey(event: KeyboardEvent): void {
  if (!document.getElementById('list')) return;
  const target = event.target as HTMLElement;
  const isArrow = event.key === 'ArrowDown' || event.key === 'ArrowUp';
  // In the filter, the up and down arrows move into the list.
  const isTyping = target.matches('input:not([type="checkbox"]), textarea, select') && !(isArrow && target.matches('.filter'));
  if (event.defaultPrevented || isTyping || document.querySelector('dialog[open]')) return;
  const action = keyAction(event);
  if (!action) return;
  event.preventDefault();
  action(event);
}

export function startKeyboard(): void {
  document.addEventListener('keydown', onKey);
  addToMenu(makeButton(text('shortcuts'), 'keyboard', () => void showHelp(), 'quiet'));
}
