import { deleteRows } from '../actions/members.ts';
import { openRowMenu } from '../actions/row-menu.ts';
import { undoLast } from '../actions/undo.ts';
import { may } from '../navigation/folder.ts';
import { focusFilter } from '../rows/filter.ts';
import { focusedRow, focusRow } from '../rows/rows.ts';
import { clearSelection, extendSelection, rowsMeant, selectAll, toggleRow } from '../rows/selection.ts';
import { hasShortcuts, showHelp, startHelp } from './help.ts';
import { stepTo } from './steps.ts';
import { isTypingAhead, typeAhead } from './type-ahead.ts';

type KeyAction = (event: KeyboardEvent) => void;

const withControl: Readonly<Record<string, KeyAction>> = { a: () => selectAll(), z: () => void undoLast() };

const singleKeys: Readonly<Record<string, KeyAction>> = { '/': focusFilter, '?': () => void showHelp() };

/** What a key does on the page, where somebody is not typing; undefined when that is the browser's affair. */
function actionOf(event: KeyboardEvent): KeyAction | undefined {
  const { key, shiftKey } = event;
  if (event.altKey) return undefined;
  if (event.ctrlKey || event.metaKey) return shiftKey ? undefined : withControl[key.toLowerCase()];
  const row = focusedRow();
  if (row && (key === 'ContextMenu' || (shiftKey && key === 'F10'))) return () => openRowMenu(row);
  if (key === 'Escape') return () => clearSelection();
  if (key === 'Delete' && may('delete')) return () => void deleteRows(rowsMeant());
  const next = stepTo(key);
  if (next) return () => (shiftKey && row ? extendSelection(row, next) : focusRow(next));
  // Space and Enter on a box or a button are the browser's.
  const isOnLink = row !== undefined && (event.target as Element).matches('a');
  if (key === ' ' && isOnLink && !isTypingAhead()) return () => toggleRow(row);
  if (!hasShortcuts() || key.length !== 1) return undefined;
  if (singleKeys[key] && !isTypingAhead()) return singleKeys[key];
  return row && (key !== ' ' || isOnLink) ? () => typeAhead(key) : undefined;
}

function onKey(event: KeyboardEvent): void {
  // A folder that may not be looked into has no list.
  if (!document.getElementById('list')) return;
  const target = event.target as HTMLElement;
  const isArrow = event.key === 'ArrowDown' || event.key === 'ArrowUp';
  // From the filter the arrows lead into the list.
  const isTyping = target.matches('input:not([type="checkbox"]), textarea, select') && !(isArrow && target.matches('.filter'));
  if (event.defaultPrevented || isTyping || document.querySelector('dialog[open]')) return;
  const action = actionOf(event);
  if (!action) return;
  event.preventDefault();
  action(event);
}

/** Starts the keyboard, and the button that explains it. */
export function startKeyboard(): void {
  document.addEventListener('keydown', onKey);
  startHelp();
}
