import { type Child, make } from './dom.ts';
import { text } from './language.ts';

/** A button of a dialog; `value` is what the dialog gives when it is pressed. */
export interface DialogButton {
  value: string;
  label: string;
  kind?: 'primary' | 'primary danger';
}

/** What a dialog shows. */
export interface DialogModel {
  title: string;
  content: Child[];
  buttons: DialogButton[];
  /** Called before the dialog closes with a button's value; a text keeps it open and is shown. */
  check?: (value: string) => Promise<string | undefined>;
  /** Receives the focus; else the first field or button. */
  focus?: HTMLElement;
}

/** Dialogs so far; one can open above another. */
let made = 0;

/**
 * Shows a modal dialog.
 *
 * @returns the value of the pressed button; `cancel` when it was closed in another way
 */
export function ask(model: DialogModel): Promise<string> {
  const titleId = `dialog-title-${++made}`;
  const title = make('h2', { id: titleId }, model.title);
  const problem = make('p', { className: 'notice error', hidden: true, attributes: { role: 'alert' } });
  const buttons = model.buttons.map((button) =>
    make(
      'button',
      { value: button.value, className: button.kind ?? '', type: button.value === 'cancel' ? 'button' : 'submit' },
      button.label,
    ),
  );
  const form = make('form', { method: 'dialog' }, title, problem, ...model.content, make('div', { className: 'row' }, ...buttons));
  const dialog = make('dialog', { attributes: { 'aria-labelledby': titleId } }, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    let result = 'cancel';
    for (const button of buttons) if (button.value === 'cancel') button.addEventListener('click', () => dialog.close());
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      const value = ((event as SubmitEvent).submitter as HTMLButtonElement | null)?.value ?? '';
      void settle(value);
    });
    const settle = async (value: string) => {
      for (const button of buttons) button.disabled = true;
      const message = await model.check?.(value);
      for (const button of buttons) button.disabled = false;
      if (message === undefined) {
        result = value;
        dialog.close();
        return;
      }
      problem.textContent = message;
      problem.hidden = false;
      model.focus?.focus();
    };
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(result);
    });
    dialog.showModal();
    model.focus?.focus();
    if (model.focus instanceof HTMLInputElement) model.focus.select();
  });
}

/** The button that closes a dialog without doing anything. */
export function cancelButton(): DialogButton {
  return { value: 'cancel', label: text('cancel') };
}

/** A list of names in a dialog; long ones are cut. */
export function nameList(names: readonly string[]): HTMLElement {
  const shown = names.slice(0, 50);
  const items = shown.map((name) => make('li', {}, make('bdi', {}, name)));
  if (names.length > shown.length) items.push(make('li', {}, `… +${names.length - shown.length}`));
  return make('ul', { className: 'names', tabIndex: 0 }, ...items);
}
