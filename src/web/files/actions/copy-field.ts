import { make, makeButton } from '../../shared/dom.ts';
import { partTexts } from '../../shared/locale.ts';
import de from '../../texts/share/de.json' with { type: 'json' };
import en from '../../texts/share/en.json' with { type: 'json' };
import es from '../../texts/share/es.json' with { type: 'json' };
import fr from '../../texts/share/fr.json' with { type: 'json' };

/** Returns a text of the dialogs and pages that create links or show secrets to copy. */
export const shareText = partTexts({ en, de, es, fr });

/** Builds a button that copies the text of a field, and a line that says whether it was copied. */
export function copyButton(field: HTMLInputElement): { button: HTMLButtonElement; said: HTMLElement } {
  const said = make('p.hint', { role: 'status' });
  const button = makeButton(
    shareText('copy'),
    'copy',
    async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        said.textContent = shareText('copied');
      } catch {
        // Browsers do not let scripts use the clipboard without https.
        said.textContent = shareText('copyFailed');
      }
    },
    'primary',
  );
  return { button, said };
}

/** Adds a copy button to the secret that a page shows only once. */
function offerCopy(field: HTMLInputElement): void {
  const { button, said } = copyButton(field);
  field.addEventListener('focus', () => field.select());
  field.after(make('p.row', button), said);
}

/** Prepares the field of a secret to copy, or the fields of the password page. */
export function startField(field: HTMLInputElement): void {
  if (field.dataset.copy === undefined) offerPasswords();
  else offerCopy(field);
}

/**
 * Adds a checkbox to the password page: while it is checked, the typed passwords are visible. If the two new passwords differ, the browser
 * does not send the form, because the page in the reply would have empty fields.
 */
function offerPasswords(): void {
  const fields = document.querySelectorAll<HTMLInputElement>('main.card input[type=password]');
  const box = make('input', { type: 'checkbox' });
  box.addEventListener('change', () => {
    for (const field of fields) field.type = box.checked ? 'text' : 'password';
  });
  const [, wanted, repeated] = fields;
  repeated?.form?.addEventListener('input', () => {
    repeated.setCustomValidity(repeated.value === wanted?.value ? '' : (repeated.dataset.differs ?? ''));
  });
  [...fields].at(-1)?.after(make('label.line', box, shareText('showPasswords')));
}
