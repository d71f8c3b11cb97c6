import { sharedText } from './locale.ts';
import { notice } from './notices.ts';

/**
 * Loads a part of the script: a file of its own. Write `loadPart(() => import('./part.ts'))` in a module of the first script, which
 * must not import the part in another way (scripts/page-scripts.mjs).
 * @returns undefined after a failure, which the reader was told
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
