import { Html, html, nameHtml } from './html.ts';
import { layout } from './layout.ts';
import type { PageTextName } from './locales/en.ts';
import { reasonIn } from './locales/reasons.ts';
import type { PageContext } from './page-context.ts';

/** What a page with one message says. */
export interface MessageModel {
  status: number;
  /** The standard name of the status, for those that have no text of their own. */
  statusTitle: string;
  message: string;
  /** What went wrong with each target, instead of one message. */
  results?: readonly { target: string; message: string }[] | undefined;
  refreshTo?: string | undefined;
  /** Folder whose form led here. */
  backTo?: string | undefined;
}

const titles: Readonly<Record<number, PageTextName>> = {
  302: 'signIn',
  400: 'error400',
  401: 'error401',
  403: 'error403',
  404: 'error404',
  405: 'error405',
  409: 'error409',
  412: 'error412',
  413: 'error413',
  422: 'error422',
  429: 'error429',
  500: 'error500',
  503: 'error503',
  507: 'error507',
};

/** What the explanations say already, in the reader's language. */
const standardMessages = new Set(['Path not found.', 'Permission denied.']);

/** Messages that people meet who only use the forms. */
const translated: Readonly<Record<string, PageTextName>> = { 'No members are selected.': 'selectFirst' };

const explanations: Readonly<Record<number, PageTextName>> = { 403: 'explain403', 404: 'explain404', 429: 'explain429' };

/** A page with one message, for errors and redirects. What the service itself says stands below. */
export function messagePage(context: PageContext, model: MessageModel): string {
  const { language } = context;
  const titleName = titles[model.status];
  const title = titleName === undefined ? model.statusTitle : language.text(titleName);
  const explanation = explanations[model.status];
  const body = html`<main class="card message" id="main">
${model.status >= 400 && html`<p class="status" aria-hidden="true">${model.status}</p>`}
<h1>${title}</h1>
${explanation !== undefined && html`<p>${language.text(explanation)}</p>`}
${model.status === 302 && html`<p>${language.text('signInNeeded')}</p>`}
${model.results ? resultList(context, model.results) : model.status !== 302 && !standardMessages.has(model.message) && detail(context, model.message)}
<p>${goOn(context, model)}</p>
</main>`;
  return layout(context, { title, body, refreshTo: model.refreshTo });
}

function detail(context: PageContext, message: string) {
  const name = translated[message];
  if (name !== undefined) return html`<p class="detail">${context.language.text(name)}</p>`;
  return html`<p class="detail">${reason(context, message)}</p>`;
}

/** In the reader's language where there are words for it. */
function reason({ language }: PageContext, message: string) {
  const text = reasonIn(language.tag, message);
  return text === undefined ? html`<span lang="en">${new Html(nameHtml(message))}</span>` : new Html(nameHtml(text));
}

function resultList(context: PageContext, results: NonNullable<MessageModel['results']>) {
  const items = results.map(
    ({ target, message }) => html`<li><bdi>${new Html(nameHtml(target))}</bdi> <span class="hint">${reason(context, message)}</span></li>`,
  );
  return html`<ul class="doomed">${items}</ul>`;
}

function goOn({ language }: PageContext, { refreshTo, backTo }: MessageModel) {
  const label = refreshTo !== undefined ? 'goOn' : backTo !== undefined ? 'backToFolder' : 'toFiles';
  return html`<a class="button primary" href="${refreshTo ?? backTo ?? '/home/'}">${language.text(label)}</a>`;
}
