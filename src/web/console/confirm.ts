import { ask, cancelButton, closeDialogs, type DialogButton } from '../shared/dialogs.ts';
import type { Child } from '../shared/dom.ts';
import { errorText } from './request.ts';
import { clear } from './shown.ts';

// An open question belongs to one view, so it is closed when the view changes.
document.addEventListener('viewchange', closeDialogs);

/**
 * Asks a question, then runs an action. If the action fails, the dialog shows the reason and stays open.
 * @param keep label of the button that changes nothing; the default is `Cancel`
 * @param act runs the action; if it returns a text, the action was refused for this reason
 * @returns whether the action was done
 */
export async function confirm(
  title: string,
  content: Child[],
  button: Omit<DialogButton, 'value'>,
  act: () => Promise<unknown>,
  keep?: string,
): Promise<boolean> {
  const check = async () => {
    const reason = await act().catch((error: unknown) => clear(errorText(error)));
    return typeof reason === 'string' ? reason : undefined;
  };
  return (
    (await ask({
      title,
      content,
      buttons: [keep === undefined ? cancelButton() : { ...cancelButton(), label: keep }, { value: 'ok', ...button }],
      check,
    })) === 'ok'
  );
}
