import { sharedText } from './locale.ts';
import { notice } from './notices.ts';

/**
 * Loads a part of the script from its own file. Write `loadPart(() => import('./part.ts'))` in a module of `page.js`, which must not import
 * the part in any other way (scripts/page-scripts.mjs).
 * @returns undefined after a failure, for which a message is shown
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch {
    notice(sharedText('partMissing'), 'error');
    return undefined;
  }
}

export function addStyle(css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
}
