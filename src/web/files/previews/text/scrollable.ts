import { make } from '../../../shared/dom.ts';

/** Something wide in a box that scrolls, with the arrow keys too: these would otherwise step to the next file. @param label says what it is */
export function scrollable(content: HTMLElement, label: string): HTMLElement {
  const box = make('div', { className: 'wide-content', tabIndex: 0, attributes: { role: 'region', 'aria-label': label } }, content);
  box.addEventListener('keydown', (event) => {
    if (/^Arrow(Left|Right)$/.test(event.key) && box.scrollWidth > box.clientWidth) event.stopPropagation();
  });
  return box;
}
