import { make } from '../shared/dom.ts';
import { text } from './language.ts';
import { actionButton, isAbort, problem } from './section.ts';

/** A list that goes on: what it needs to fetch its next page. */
interface Pages {
  /** Fetches and shows the next page. @returns whether there are more; and the first of what came, which the keyboard goes on from */
  next: () => Promise<{ hasMore: boolean; first: HTMLElement | undefined }>;
  signal: AbortSignal;
}

/** The end of a long list: fetches more when it comes in sight, or when its button is pressed. */
export class More {
  readonly element = make('div.more');
  readonly #pages: Pages;
  readonly #button: HTMLButtonElement;
  readonly #observer: IntersectionObserver;
  #isBusy = false;

  constructor(pages: Pages) {
    this.#pages = pages;
    this.#button = actionButton(text('showMore'), 'down', () => this.load(true));
    this.#observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && void this.load(false), {
      rootMargin: '400px',
    });
    pages.signal.addEventListener('abort', () => this.#observer.disconnect());
  }

  /** There is more again: it is fetched when the button is pressed. */
  offer(): void {
    if (!this.#isBusy && !this.#button.isConnected) this.element.replaceChildren(this.#button);
  }

  /** Fetches the next page. @param isAsked whether the reader pressed the button, and the focus goes to what comes */
  async load(isAsked = false): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.element.replaceChildren(make('p.hint', text('loading')));
    this.#observer.disconnect();
    try {
      const { hasMore, first } = await this.#pages.next();
      this.element.replaceChildren(...(hasMore ? [this.#button] : []));
      if (isAsked) first?.querySelector<HTMLElement>('a, button')?.focus();
      // Anew, so that it also fires where the end is still in sight.
      if (hasMore) this.#observer.observe(this.#button);
    } catch (error) {
      if (!isAbort(error)) this.element.replaceChildren(problem(error), this.#button);
    } finally {
      this.#isBusy = false;
    }
  }
}
