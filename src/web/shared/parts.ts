import { notice } from './notices.ts';

/** Time in milliseconds after which a part that is waited for is requested again; earlier if the browser is online again. */
const againMs = 3000;

/** The longest time in milliseconds of a timer. */
const longMs = 2 ** 31 - 1;

/** Numbers of failures to load each part. Browsers remember a failed import, so another attempt needs another URL. */
const failures = new Map<string, number>();

/**
 * Loads a part of the script from its own file. Write `loadPart('part', () => import('./part.ts'))` in a module of `page.js`, which must not
 * import the part in any other way (scripts/page-scripts.mjs).
 *
 * @param name name of the part's file without its extension
 * @returns undefined after a failure. A later call tries again
 */
export async function loadPart<T>(name: string, load: () => Promise<T>): Promise<T | undefined> {
  const failed = failures.get(name);
  try {
    return await (failed === undefined ? load() : import(new URL(`${name}.js?${failed}`, import.meta.url).href));
  } catch {
    failures.set(name, (failed ?? 0) + 1);
    return undefined;
  }
}

/** Loads a part like `loadPart`, but tries again until it succeeds. @param waiting message that is shown meanwhile */
export async function awaitPart<T>(name: string, load: () => Promise<T>, waiting: string): Promise<T> {
  let forget: (() => void) | undefined;
  for (;;) {
    const part = await loadPart(name, load);
    if (part) {
      forget?.();
      return part;
    }
    forget ??= notice(waiting, 'error', undefined, longMs);
    await new Promise((resolve) => {
      addEventListener('online', resolve, { once: true });
      setTimeout(resolve, againMs);
    });
  }
}

export function addStyle(css: string): void {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(css);
  document.adoptedStyleSheets.push(sheet);
}
