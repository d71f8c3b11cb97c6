import { byId, make, makeButton } from './dom.ts';
import { text } from './language.ts';

/** How long a message stays, in milliseconds; what went wrong takes longer to read. */
const staysMs = { success: 6_000, error: 15_000 } as const;

/** Messages at a time; older ones go. */
const mostAtOnce = 3;

/** Shows a message over the page and has screen readers say it. It goes by itself, but not while somebody points at it or has the focus in it. */
export function notice(message: string, kind: keyof typeof staysMs = 'success'): void {
  const close = makeButton('', 'close', () => element.remove(), 'quiet');
  close.setAttribute('aria-label', text('close'));
  const element = make('div', { className: `notice ${kind}` }, make('p', {}, message), close);
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => element.remove(), staysMs[kind]);
  };
  for (const type of ['pointerenter', 'focusin'] as const) element.addEventListener(type, () => clearTimeout(timer));
  for (const type of ['pointerleave', 'focusout'] as const) element.addEventListener(type, wait);
  wait();
  const list = byId('notices');
  list.append(element);
  while (list.children.length > mostAtOnce) list.firstElementChild?.remove();
}

/** Takes over the message of a form that led to this page. */
export function startNotices(): void {
  for (const told of byId('notices').querySelectorAll('p')) {
    told.remove();
    notice(told.textContent ?? '', told.classList.contains('error') ? 'error' : 'success');
  }
}
