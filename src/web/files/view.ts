import { byId } from '../shared/dom.ts';

/** Takes over the switch between list and grid, so that a choice needs no new page. */
export function startView(): void {
  const [toList, toGrid] = ['list', 'grid'].map((view) => document.querySelector<HTMLAnchorElement>(`#tools .to-${view}`));
  for (const [view, link] of [
    ['list', toList],
    ['grid', toGrid],
  ] as const) {
    link?.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const list = byId('list');
      list.classList.toggle('grid', view === 'grid');
      byId('main').dataset.view = view;
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that the page supports
      document.cookie = `SVC_VIEW=${view}; Path=/home/; SameSite=strict; Max-Age=31536000`;
      list.dispatchEvent(new Event('viewchange'));
      document.querySelector<HTMLElement>(view === 'grid' ? '#tools .to-list' : '#tools .to-grid')?.focus();
    });
  }
}
