import { ask, cancelButton, type DialogButton } from '../shared/dialogs.ts';
import type { Child } from '../shared/dom.ts';
import { reasonOf } from './request.ts';
import { clear } from './shown.ts';

/**
 * Asks whether something shall be done, and does it. What keeps it from being done is said in the dialog, which stays.
 *
 * @param act gives a reason why it was not done, or nothing
 * @returns whether it was done
 */
export async function confirm(
  title: string,
  content: Child[],
  button: Omit<DialogButton, 'value'>,
  act: () => Promise<string | undefined>,
): Promise<boolean> {
  const check = () => act().catch((error: unknown) => clear(reasonOf(error)));
  return (await ask({ title, content, buttons: [cancelButton(), { value: 'ok', ...button }], check })) === 'ok';
}
