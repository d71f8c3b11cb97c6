import { byId } from './dom.ts';

/** Handles the form with which the user chooses the colours, so that a choice loads no new page. */
export function startThemes(): void {
  const form = document.querySelector<HTMLFormElement>('form.theme');
  form?.addEventListener('submit', (event) => {
    const chosen = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (!chosen) return;
    event.preventDefault();
    choose(chosen.value);
    for (const button of form.querySelectorAll('button')) button.setAttribute('aria-pressed', String(button === chosen));
  });
}

// The service reads the cookie and writes the choice into the next page, so that this page has the right colours from the start.
function choose(theme: string): void {
  const isSystem = theme === 'system';
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that the page supports
  document.cookie = `SVC_THEME=${theme}; Path=/; SameSite=strict; Max-Age=${isSystem ? 0 : 31_536_000}`;
  if (isSystem) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };

/** Adds a button to the menu of the page. */
export function addToMenu(button: HTMLButtonElement): void {
  // Pages of share links have no menu.
  document.querySelector('#menu hr')?.before(button);
}

/**
 * Makes the arrow keys, Home and End move the focus in a menu, and closes it when a link or an added button is chosen. The menu is a
 * popover, so it opens and closes without scripts.
 */
export function startMenu(id = 'menu'): void {
  const menu = byId(id);
  const opener = document.querySelector<HTMLElement>(`[popovertarget=${id}]`);
  const onKey = (event: KeyboardEvent) => {
    // The sections of the console are a popover only on phones.
    if (!menu.popover) return;
    const isOpen = menu.matches(':popover-open');
    // The page must not handle the key as well: Escape would clear the selection, and arrows would move to the list.
    if (isOpen) event.stopPropagation();
    const items = [...menu.querySelectorAll<HTMLElement>('a, button')].filter((item) => getComputedStyle(item).display !== 'none');
    const at = items.indexOf(document.activeElement as HTMLElement);
    const step = steps[event.key];
    let next: number | undefined;
    if (step !== undefined && (isOpen || event.key === 'ArrowDown')) next = at < 0 && step < 0 ? items.length - 1 : at + step;
    else if (isOpen && event.key === 'Home') next = 0;
    else if (isOpen && event.key === 'End') next = items.length - 1;
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (!isOpen) menu.showPopover();
    items[(next + items.length) % items.length]?.focus();
  };
  menu.addEventListener('keydown', onKey);
  // When the menu closes, the focus returns to the button that opened it. So the menu closes before the action, which may move the focus.
  const onClick = ({ target }: Event) => menu.popover && (target as Element).closest('a, [type=button]') && menu.hidePopover();
  menu.addEventListener('click', onClick, { capture: true });
  opener?.addEventListener('keydown', onKey);
}
