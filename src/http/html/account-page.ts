import { bdi, escapeFormValue, Html, html, icon } from '../../lib/html.ts';
import type { IconName } from '../../lib/icon-shapes.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import type { Flash } from './page-cookies.ts';
import { pageReply } from './page-replies.ts';
import type { PageContext } from './pages/page.ts';

/** Maximum size of form bodies of these pages, in bytes. A thousand IDs take 42 KiB. */
export const formLimitBytes = 256 * 1024;

interface AccountPage {
  url: string;
  title: string;
  /** The result of the form that redirected to this page. */
  flash?: Flash | undefined;
  content: Html;
}

/** Renders the body of a page of the account that does not show a folder, with the path to it, messages and content. */
export function accountPage({ language }: PageContext, { url, title, flash, content }: AccountPage): Html {
  return html`<main id="main" data-may="">
<nav class="crumbs" aria-label="${language.text('path')}"><ol><li><a href="/home/">${language.text('files')}</a></li>\
<li><a href="${url}" aria-current="page">${title}</a></li></ol></nav>
<h1 class="hidden">${title}</h1>
<div id="notices" aria-live="polite">${flash && html`<p class="notice success" role="status">${flash.text}</p>`}</div>
${content}
</main>`;
}

interface SelectionList {
  url: string;
  /** Buttons that act on the selected items. */
  tools: Html;
  hint: Html | false;
  items: readonly Html[];
  /** Number of all items; the page may show fewer. */
  count: number;
  /** Shown in place of an empty list. */
  none: { icon: IconName; text: string };
}

/** Renders a form with a checkbox for each item, or a text if there are no items. */
export function selectionList({ language }: PageContext, { url, tools, hint, items, count, none }: SelectionList): Html {
  if (items.length === 0)
    return html`<div id="members" tabindex="-1"><div class="empty closed">${icon(none.icon)}<p class="lead">${none.text}</p>${hint}</div></div>`;
  return html`<form id="members" tabindex="-1" method="post" action="${url}">
<div class="trash-tools">${tools}</div>
${hint}
<ul id="recent" class="recent">
${items}
</ul>
<p class="count">${language.text('items', { count })}</p>
</form>`;
}

interface Question {
  url: string;
  title: string;
  question: string;
  /** Names of the affected items. */
  items: readonly Html[];
  warning: string;
  /** Further fields that the user fills in. */
  fields?: Html;
  action: string;
  /** IDs that the form sends back unchanged. */
  ids: readonly string[];
  button: Html;
  isDangerous: boolean;
}

/** Renders the page that lists the selected items and asks before the action is done. */
export function questionPage(context: PageContext, asked: Question): Reply {
  const { url, title, question, items, warning, fields, action, ids, button, isDangerous } = asked;
  const body = html`<main class="card roomy" id="main">
<h1>${question}</h1>
<ul class="doomed">${items.map((item) => html`<li>${item}</li>`)}</ul>
<p>${warning}</p>
<form method="post" action="${url}">
<input type="hidden" name="action" value="${action}">
${ids.map((id) => new Html(`<input type="hidden" name="selected" value="${escapeFormValue(id)}">`))}
${fields}
<div class="row"><a class="button" href="${url}">${context.language.text('cancel')}</a>
${items.length > 0 && html`<button type="submit" class="primary${isDangerous && new Html(' danger')}">${button}</button>`}</div>
</form>
</main>`;
  return pageReply(context, 200, { title, body });
}

/** Renders a list without checkboxes, or a text if there are no items. */
export function plainList({ hint, items, none }: Pick<SelectionList, 'hint' | 'items' | 'none'>): Html {
  return html`<div id="members" tabindex="-1">
${
  items.length > 0
    ? html`${hint}
<ul id="recent" class="recent">
${items}
</ul>`
    : html`<div class="empty closed">${icon(none.icon)}<p class="lead">${none.text}</p>${hint}</div>`
}
</div>`;
}

/** Renders a time in UTC, which the page's script replaces by local time. */
export function timeHtml({ language }: Pick<PageContext, 'language'>, timeMs: number): Html {
  return html`<span data-time="${Math.floor(timeMs / 1000)}">${language.date(timeMs)} UTC</span>`;
}

/** Renders the name of a folder; the home folder is shown as "Files". */
export function folderHtml({ language }: Pick<PageContext, 'language'>, folder: VirtualPath): Html {
  return folder === '/' ? html`${language.text('files')}` : bdi(folder);
}
