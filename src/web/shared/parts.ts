import { sharedText } from './locale.ts';
import { notice } from './notices.ts';

/** Time in milliseconds after which a part that is waited for is requested again; earlier if the browser is online again. */
const againMs = 3000;

/** The longest time in milliseconds of a timer. */
const longMs = 2 ** 31 - 1;

/**
 * Loads a part of the script from its own file. Write `loadPart(() => import('./part.ts'))` in a module of `page.js`, which must not import
 * the part in any other way (scripts/page-scripts.mjs).
 *
 * @param load gets the number of failures. Browsers remember a failed import, so another attempt needs another URL
 * @param waiting message that is shown until the part is loaded; without it, the first failure is the end
 * @returns undefined after a failure, for which a message is shown
 */
export async function loadPart<T>(load: (failures: number) => Promise<T>, waiting?: string): Promise<T | undefined> {
  let forget: (() => void) | undefined;
  for (let failures = 0; ; failures++) {
    try {
      const part = await load(failures);
      forget?.();
      return part;
    } catch {
      if (waiting === undefined) return void notice(sharedText('partMissing'), 'error');
      forget ??= notice(waiting, 'error', undefined, longMs);
      await new Promise((resolve) => {
        addEventListener('online', resolve, { once: true });
        setTimeout(resolve, againMs);
      });
    }
  }
}

export function addStyle(css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
}
