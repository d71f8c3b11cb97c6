import { sharedText } from './locale.ts';
import { notice } from './notices.ts';

/**
 * Loads a part of the script: a file of its own that only those fetch who need it. Write `loadPart(() => import('./part.ts'))`; the import has to
 * stand in a module of the first script, and nothing of that may import the part in another way (scripts/page-scripts.mjs).
 *
 * @returns undefined when it could not be fetched, which the reader has been told
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T | undefined> {
  try {
    return await load();
  } catch {
    notice(sharedText('partMissing'), 'error');
    return undefined;
  }
}

/** Adds the style of a part to the page. */
export function addStyle(css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
}
