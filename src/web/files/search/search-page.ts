import { loadPart } from '../../shared/parts.ts';
import { leadToPreview } from './preview-link.ts';

let underWay: AbortController | undefined;

/** Starts what works on the page of a search; of another page it ends the search that went before. */
export function startSearchPage(): void {
  underWay?.abort();
  const list = document.querySelector<HTMLElement>('.found');
  if (!list) return;
  for (const link of list.querySelectorAll<HTMLAnchorElement>('a.i')) leadToPreview(link);
  if (list.dataset.pending === undefined) return;
  const controller = new AbortController();
  underWay = controller;
  void loadPart(() => import('./found.ts')).then((part) => part?.showFound(list, controller.signal));
}
