import { byId, iconButton, make, makeButton } from './dom.ts';
import { sharedText } from './locale.ts';

/** Time in milliseconds for which a message is shown. Errors take longer to read. */
const staysMs = { success: 6_000, info: 10_000, error: 15_000 } as const;

/** Maximum number of messages. Older ones are removed, and errors last. */
const maxAtOnce = 3;

interface NoticeAction {
  label: string;
  run: () => void;
}

/**
 * Shows a message, which screen readers announce. After a while it disappears, unless it is hovered or focused.
 *
 * @returns a function that removes the message
 */
export function notice(
  message: string,
  kind: keyof typeof staysMs = 'success',
  action?: NoticeAction,
  stays: number = staysMs[kind],
): () => void {
  const remove = () => element.remove();
  const close = iconButton(sharedText('close'), 'close', remove);
  const offer = action && makeButton(action.label, undefined, action.run);
  const element = make('div', { className: `notice ${kind}` }, make('p', message), offer, close);
  let timer = 0;
  const wait = () => {
    clearTimeout(timer);
    // The console hides messages while a dialog is open.
    timer = window.setTimeout(() => (element.checkVisibility({ visibilityProperty: true }) ? remove() : wait()), stays);
  };
  for (const type of ['pointerenter', 'focusin'] as const) element.addEventListener(type, () => clearTimeout(timer));
  for (const type of ['pointerleave', 'focusout'] as const) element.addEventListener(type, wait);
  wait();
  const list = byId('notices');
  for (const other of list.querySelectorAll('.notice')) if (other.textContent === element.textContent) other.remove();
  list.append(element);
  while (list.children.length > maxAtOnce) (list.querySelector(':scope > :not(.error, :last-child)') ?? list.firstElementChild)?.remove();
  return remove;
}

/** Shows the message that the service wrote into the page after a form was sent. */
export function startNotices(): void {
  for (const told of byId('notices').querySelectorAll('p')) {
    told.remove();
    notice(told.textContent ?? '', told.classList.contains('error') ? 'error' : 'success');
  }
}
