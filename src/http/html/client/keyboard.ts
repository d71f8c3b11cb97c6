import { deleteRows } from './actions/members.ts';
import { offersRename } from './actions/rename.ts';
import { ask } from './dialogs.ts';
import { make, makeButton } from './dom.ts';
import { focusFilter } from './filter.ts';
import { text } from './language.ts';
import { addToMenu } from './menu.ts';
import { may } from './navigation/folder.ts';
import { focusedRow, focusRow, type Row, shownRows } from './rows.ts';
import { clearSelection, selectedRows, toggleRow } from './selection.ts';

/** Where the choice about single-key shortcuts is kept (WCAG 2.2, 2.1.4: there must be a way to turn them off). */
const storageKey = 'svc-shortcuts';

function hasShortcuts(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off';
  } catch {
    // A browser that keeps nothing for pages still has a keyboard.
    return true;
  }
}

function go(rows: readonly Row[], index: number): void {
  const row = rows[Math.max(0, Math.min(index, rows.length - 1))];
  if (row) focusRow(row);
}

type KeyAction = (event: KeyboardEvent) => void;

function moveBy(step: number): KeyAction {
  return () => {
    const rows = shownRows();
    const row = focusedRow();
    go(rows, row ? rows.indexOf(row) + step : step > 0 ? 0 : rows.length - 1);
  };
}

const everywhere: Readonly<Record<string, KeyAction>> = {
  ArrowDown: moveBy(1),
  ArrowUp: moveBy(-1),
  Escape: () => clearSelection(),
};

const inList: Readonly<Record<string, KeyAction>> = {
  Home: () => go(shownRows(), 0),
  End: () => go(shownRows(), Number.POSITIVE_INFINITY),
  ' ': () => {
    const row = focusedRow();
    if (row) toggleRow(row);
  },
};

const singleKeys: Readonly<Record<string, KeyAction>> = { '/': focusFilter, '?': () => void showHelp() };

function onKey(event: KeyboardEvent): void {
  // A folder that may not be looked into has no list.
  if (!document.getElementById('list')) return;
  const target = event.target as HTMLElement;
  const isArrow = event.key === 'ArrowDown' || event.key === 'ArrowUp';
  // From the filter the arrows lead into the list.
  const isTyping = target.matches('input:not([type="checkbox"]), textarea, select') && !(isArrow && target.matches('.filter'));
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping || document.querySelector('dialog[open]')) return;
  const row = focusedRow();
  // Space on a checkbox or a button is the browser's.
  const isOwn = row !== undefined && target.matches('a');
  const action =
    everywhere[event.key] ??
    (isOwn || event.key !== ' ' ? row && inList[event.key] : undefined) ??
    (hasShortcuts() ? singleKeys[event.key] : undefined) ??
    (event.key === 'Delete' && may('delete')
      ? () => void deleteRows(selectedRows().length > 0 ? selectedRows() : row ? [row] : [])
      : undefined);
  if (!action) return;
  event.preventDefault();
  action(event);
}

async function showHelp(): Promise<void> {
  const keys: [string[], string][] = [
    [['↑', '↓'], text('keyMove')],
    [['Enter'], `${text('keyOpen')} / ${text('keyPreview')}`],
    [[text('spaceKey')], text('keySelect')],
    [[text('deleteKey')], text('delete')],
    ...(offersRename() ? [[['F2'], text('rename')] as [string[], string]] : []),
    [['/'], text('keyFilter')],
    [['Esc'], text('keyEscape')],
    [['?'], text('keyHelp')],
  ];
  const list = make('dl');
  for (const [names, meaning] of keys) list.append(make('dt', {}, ...names.map((name) => make('kbd', {}, name))), make('dd', {}, meaning));
  const enabled = make('input', { type: 'checkbox', checked: hasShortcuts() });
  enabled.addEventListener('change', () => localStorage.setItem(storageKey, enabled.checked ? 'on' : 'off'));
  await ask({
    title: text('shortcuts'),
    content: [
      list,
      document.getElementById('upload') !== null && make('p', { className: 'hint' }, text('uploadsHelp')),
      make('label', { className: 'line' }, enabled, text('shortcutsOn')),
    ],
    buttons: [{ value: 'cancel', label: text('close') }],
  });
}

/** Starts the keyboard, and the button that explains it. */
export function startKeyboard(): void {
  document.addEventListener('keydown', onKey);
  addToMenu(makeButton(text('shortcuts'), 'keyboard', () => void showHelp(), 'quiet'));
}
