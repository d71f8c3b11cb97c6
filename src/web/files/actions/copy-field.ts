import { make, makeButton } from '../../shared/dom.ts';
import { shareText } from './share-texts.ts';

/** A button that copies the text of a field, and the line that tells whether that was done. */
export function copyButton(field: HTMLInputElement): { button: HTMLButtonElement; said: HTMLElement } {
  const said = make('p.hint', { role: 'status' });
  const button = makeButton(shareText('copy'), 'copy', async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      said.textContent = shareText('copied');
    } catch {
      // Without https browsers keep the clipboard from scripts.
      said.textContent = shareText('copyFailed');
    }
  });
  return { button, said };
}

/** Offers to copy the secret that a page shows once. */
export function offerCopy(field: HTMLInputElement): void {
  const { button, said } = copyButton(field);
  field.addEventListener('focus', () => field.select());
  field.after(make('p.row', button), said);
}
