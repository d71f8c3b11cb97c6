import { ask, cancelButton, type DialogButton } from '../shared/dialogs.ts';
import type { Child } from '../shared/dom.ts';
import { errorText } from './request.ts';
import { clear } from './shown.ts';

/**
 * Asks a question, then acts; a failure is shown in the dialog, which stays open.
 * @param act may return the reason why it was not done
 * @returns whether it was done
 */
export async function confirm(
  title: string,
  content: Child[],
  button: Omit<DialogButton, 'value'>,
  act: () => Promise<unknown>,
): Promise<boolean> {
  const check = async () => {
    const reason = await act().catch((error: unknown) => clear(errorText(error)));
    return typeof reason === 'string' ? reason : undefined;
  };
  return (await ask({ title, content, buttons: [cancelButton(), { value: 'ok', ...button }], check })) === 'ok';
}
