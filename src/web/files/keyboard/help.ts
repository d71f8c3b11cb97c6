import { ask } from '../../shared/dialogs.ts';
import { make, makeButton } from '../../shared/dom.ts';
import { addToMenu } from '../../shared/menu.ts';
import { offersRename } from '../actions/rename.ts';
import { text } from '../language.ts';

/** Where the choice about single-key shortcuts is kept (WCAG 2.2, 2.1.4: there must be a way to turn them off). */
const storageKey = 'svc-shortcuts';

/** Whether keys without Ctrl do something. */
export function hasShortcuts(): boolean {
  try {
    return localStorage.getItem(storageKey) !== 'off';
  } catch {
    // A browser that keeps nothing for pages still has a keyboard.
    return true;
  }
}

/** Explains the keys, and turns the single ones off. */
export async function showHelp(): Promise<void> {
  const keys: [string[], string][] = [
    [['↑', '↓'], text('keyMove')],
    [['Enter'], `${text('keyOpen')} / ${text('preview')}`],
    [[text('spaceKey')], text('keySelect')],
    [[text('shiftKey'), '↑', '↓'], text('keyExtend')],
    [[text('controlKey'), 'A'], text('selectAll')],
    [[text('shiftKey'), 'F10'], text('keyActions')],
    [[text('deleteKey')], text('delete')],
    ...(offersRename()
      ? ([
          [['F2'], text('rename')],
          [[text('controlKey'), 'Z'], text('keyUndo')],
        ] as [string[], string][])
      : []),
    [['a', '…', 'z'], text('keyTypeAhead')],
    [['/'], text('filterHint')],
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
      document.getElementById('upload') !== null && make('p', { className: 'hint' }, text('pasteHelp')),
      document.getElementById('upload') !== null && make('p', { className: 'hint' }, text('uploadsHelp')),
      make('label', { className: 'line' }, enabled, text('shortcutsOn')),
    ],
    buttons: [{ value: 'cancel', label: text('close') }],
    isText: true,
  });
}

/** Adds the button that explains the keyboard. */
export function startHelp(): void {
  addToMenu(makeButton(text('shortcuts'), 'keyboard', () => void showHelp(), 'quiet'));
}
