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

/** Prepares the field of a secret to copy, or the fields of the pages for passwords and tokens. */
export function startField(field: HTMLInputElement): void {
  if (field.dataset.copy !== undefined) offerCopy(field);
  else if (field.type === 'password') offerPasswords();
  if (field.form) tellProblems(field.form);
}

/** Shows what is wrong with a field below it, because the browser's own message has another language and look, and covers other fields. */
function tellProblems(form: HTMLFormElement): void {
  const forget = () => {
    for (const told of form.querySelectorAll('.invalid')) told.remove();
    for (const field of form.querySelectorAll('[aria-describedby=invalid]')) {
      field.removeAttribute('aria-describedby');
      field.ariaInvalid = null;
    }
  };
  form.addEventListener('input', forget);
  form.addEventListener(
    'invalid',
    (event) => {
      event.preventDefault();
      const field = event.target as HTMLInputElement;
      if (field !== form.querySelector(':invalid:not(fieldset)')) return;
      forget();
      const message = field.validity.customError ? field.validationMessage : shareText('required');
      field.after(make('p.notice.error.invalid', { id: 'invalid', role: 'alert' }, message));
      field.setAttribute('aria-describedby', 'invalid');
      field.ariaInvalid = 'true';
      field.focus();
    },
    { capture: true },
  );
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
