import { displayName } from '../../lib/display-name.ts';
import { type Child, make, makeButton } from './dom.ts';
import { sharedText } from './locale.ts';

export interface DialogButton {
  value: string;
  label: string;
  kind?: 'primary' | 'primary danger';
  disabled?: boolean;
}

export interface DialogModel {
  title: string;
  content: Child[];
  buttons: DialogButton[];
  /**
   * Called with the value of the pressed button, before the dialog closes. If it returns a text, the dialog shows the text (unless it is
   * empty) and stays open.
   * While it runs, the dialog cannot be closed.
   */
  check?: (value: string) => Promise<string | undefined>;
  /** Stops the work of `check`. While `check` runs, the dialog has a button for this. */
  onStop?: () => void;
  /** Whether `check` starts when the dialog opens, before any button is pressed. */
  isRunning?: boolean;
  /** Whether the dialog contains a text to read. If it does, the title gets the focus, so that reading begins at the top. */
  isText?: boolean;
  /** Element that gets the focus; by default the first field or button. */
  focus?: HTMLElement;
  /** Value of the button that gets the focus in place of the first field or button. */
  focusOn?: string;
  /** Number of characters that are selected in the focused field; by default all of them. */
  selectedLength?: number | undefined;
  className?: string | undefined;
  /** Whether the dialog stays open when another folder is shown. */
  stays?: boolean;
}

let made = 0;

/** Shows a modal dialog. @returns the value of the pressed button; `cancel` if the dialog was closed in another way */
export function ask(model: DialogModel): Promise<string> {
  const titleId = `dialog-title-${++made}`;
  const title = make('h2', { id: titleId, ...(model.isText && { tabIndex: -1, autofocus: true }) }, model.title);
  const problem = make('p.notice.error', { hidden: true, role: 'alert' });
  const buttons = model.buttons.map((button) =>
    make(
      'button',
      {
        value: button.value,
        className: button.kind ?? '',
        type: button.value === 'cancel' ? 'button' : 'submit',
        disabled: button.disabled === true,
      },
      button.label,
    ),
  );
  const stop = makeButton(sharedText('stop'), undefined, () => {
    stop.disabled = true;
    model.onStop?.();
  });
  stop.hidden = true;
  const form = make('form', { method: 'dialog' }, title, problem, ...model.content, make('div.row', stop, ...buttons));
  const dialog = make('dialog', { attributes: { 'aria-labelledby': titleId } }, form);
  dialog.className = model.className ?? '';
  dialog.classList.toggle('stays', model.stays === true);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let result = 'cancel';
    let settling: Promise<void> | undefined;
    for (const button of buttons) if (button.value === 'cancel') button.addEventListener('click', () => dialog.close());
    const begin = (value: string) => {
      settling ??= settle(value).finally(() => {
        settling = undefined;
      });
    };
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      begin(((event as SubmitEvent).submitter as HTMLButtonElement | null)?.value ?? '');
    });
    const setRunning = (isRunning: boolean) => {
      for (const button of buttons) {
        button.disabled = isRunning;
        if (model.onStop && button.value === 'cancel') button.hidden = isRunning;
      }
      stop.disabled = false;
      stop.hidden = !model.onStop || !isRunning;
      if (!stop.hidden) stop.focus();
    };
    const settle = async (value: string) => {
      setRunning(true);
      const message = await model.check?.(value).finally(() => setRunning(false));
      if (message === undefined) {
        result = value;
        dialog.close();
        return;
      }
      problem.textContent = message;
      problem.hidden = message === '';
      model.focus?.focus();
    };
    dialog.addEventListener('cancel', (event) => settling && event.preventDefault());
    // A second Escape would close the dialog even if its `cancel` event is prevented. The listener is on the whole document, because a
    // button that was disabled has lost the focus to the page.
    const onKey = (event: KeyboardEvent) => {
      const isOnTop = [...document.querySelectorAll('dialog[open]')].at(-1) === dialog;
      if (settling && isOnTop && event.key === 'Escape') event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    dialog.addEventListener('close', async () => {
      document.removeEventListener('keydown', onKey);
      dialog.remove();
      await settling;
      resolve(result);
    });
    dialog.showModal();
    if (model.isRunning) begin('');
    // If a list of names scrolls, the browser gives it the focus. Enter would do nothing there, so the Cancel button gets the focus.
    const focusOn = model.focusOn ?? (document.activeElement?.matches('.names, .doomed') ? 'cancel' : undefined);
    (model.focus ?? buttons.find(({ value }) => value === focusOn))?.focus();
    if (!(model.focus instanceof HTMLInputElement)) return;
    if (model.selectedLength === undefined) model.focus.select();
    else model.focus.setSelectionRange(0, model.selectedLength);
  });
}

/** Closes the dialogs of a folder that is no longer shown. Dialogs with `stays`, and those whose work is running, remain open. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll<HTMLDialogElement>('dialog[open]:not(.stays)'))
    if (dialog.dispatchEvent(new Event('cancel', { cancelable: true }))) dialog.close();
}

/** The button that closes a dialog without doing anything. */
export function cancelButton(): DialogButton {
  return { value: 'cancel', label: sharedText('cancel') };
}

/** Number of names, and of characters, that a list shows without scrolling even on the narrowest screen. */
const namesInSight = 4;
const charactersInSight = 80;

/** Returns the first `count` items of a list. If there are more, a last item says how many more. */
export function firstOf(items: readonly string[], count: number): string[] {
  return items.length > count ? [...items.slice(0, count), `… +${items.length - count}`] : [...items];
}

/** Maximum number of names in a list. If there are more, the last item of the list is their number. */
export const maxNames = 50;

/** Builds a list of names for a dialog. */
export function nameList(names: readonly string[]): HTMLElement {
  const items = firstOf(names.map(displayName), maxNames).map((name) => make('li', make('bdi', name)));
  // A scrollable list must be focusable. Other lists are not, because a focusable list looks like a field.
  const isInSight = names.length <= namesInSight && names.join('').length <= charactersInSight;
  return make('ul.names', { ...(!isInSight && { tabIndex: 0 }) }, ...items);
}

/** Builds a progress bar. `show` sets how many of `total` items are done. */
export function progressBar(label: string, total: number) {
  const bar = make('progress', { max: total, ariaLabel: label });
  const counter = make('p.hint');
  const element = make('div', { hidden: true }, bar, counter);
  const show = (done: number, part?: { done: number; total: number }) => {
    element.hidden = false;
    bar.value = done + (part ? part.done / part.total : 0);
    const shown = part && total === 1 ? part : { done, total };
    counter.textContent = sharedText('running', shown);
  };
  return { element, show };
}
