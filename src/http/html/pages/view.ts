import { html } from './html.ts';
import { icon } from './icons.ts';
import type { PageContext } from './page-context.ts';

/** The ways in which a listing can be looked at. */
export const views = ['list', 'grid'] as const;
export type View = (typeof views)[number];

/** The links to both; the one that changes nothing is not shown. */
export function viewSwitch({ language }: PageContext) {
  return html`<a class="button quiet to-grid" href="?view=grid" title="${language.text('asGrid')}">${icon('grid')}<span class="hidden">${language.text('asGrid')}</span></a>
<a class="button quiet to-list" href="?view=list" title="${language.text('asList')}">${icon('list')}<span class="hidden">${language.text('asList')}</span></a>`;
}
