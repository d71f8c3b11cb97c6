import { ask, cancelButton, type DialogButton } from '../shared/dialogs.ts';
import type { Child } from '../shared/dom.ts';
import { reasonOf } from './request.ts';
import { clear } from './shown.ts';

/**
 * Asks whether something shall be done, and does it. What keeps it from being done is said in the dialog, which stays.
 *
 * @param act may give a text, which says why it was not done
 * @returns whether it was done
 */
export async function confirm(
  title: string,
  content: Child[],
  button: Omit<DialogButton, 'value'>,
  act: () => Promise<unknown>,
): Promise<boolean> {
  const check = async () => {
    const reason = await act().catch((error: unknown) => clear(reasonOf(error)));
    return typeof reason === 'string' ? reason : undefined;
  };
  return (await ask({ title, content, buttons: [cancelButton(), { value: 'ok', ...button }], check })) === 'ok';
}
