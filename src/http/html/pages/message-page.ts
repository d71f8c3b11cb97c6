import type { ErrorCode, Problem } from '../../../lib/errors.ts';
import { Html, html, nameHtml } from './html.ts';
import { layout, type PageModel } from './layout.ts';
import type { PageTextName } from './locales/language.ts';
import { problemWords } from './locales/problem-text.ts';
import type { PageContext } from './page-context.ts';

/** What a page with one message says. */
export interface MessageModel {
  status: number;
  /** The standard name of the status, for those that have no text of their own. */
  statusTitle: string;
  problem?: Problem | undefined;
  /** What went wrong with each target, instead of one problem. */
  results?: readonly { target: string; problem: Problem }[] | undefined;
  refreshTo?: string | undefined;
  /** Folder whose form led here. */
  backTo?: string | undefined;
  account?: PageModel['account'];
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

/** What says more of a problem than its few words do, and stands in their place. */
const explanations: Partial<Readonly<Record<ErrorCode, PageTextName>>> = {
  forbidden: 'explain403',
  'not-found': 'explain404',
  'nothing-selected': 'selectFirst',
  'too-many-requests': 'explain429',
};

/** A page with one message, for errors and redirects. */
export function messagePage(context: PageContext, model: MessageModel): string {
  const { language } = context;
  const titleName = titles[model.status];
  const title = titleName === undefined ? model.statusTitle : language.text(titleName);
  const explanation = model.problem && explanations[model.problem.code];
  const body = html`<main class="card message" id="main">
${model.status >= 400 && html`<p class="status" aria-hidden="true">${model.status}</p>`}
<h1>${title}</h1>
${explanation !== undefined && html`<p>${language.text(explanation)}</p>`}
${model.problem && explanation === undefined && html`<p class="detail">${words(context, model.problem)}</p>`}
${model.status === 302 && html`<p>${language.text('signInNeeded')}</p>`}
${model.results && resultList(context, model.results)}
<p>${goOn(context, model)}</p>
</main>`;
  return layout(context, { title, body, refreshTo: model.refreshTo, account: model.account });
}

/** A problem in the reader's language, what is English in it marked as such. */
function words({ language }: PageContext, problem: Problem): Html {
  const { translated, own } = problemWords(language.tag, problem);
  const known = [problem.relativePath, translated].filter((part) => part !== undefined);
  const english = own === undefined ? [] : [language.tag === 'en' ? nameHtml(own) : `<span lang="en">${nameHtml(own)}</span>`];
  return new Html([...known.map(nameHtml), ...english].join(': '));
}

function resultList(context: PageContext, results: NonNullable<MessageModel['results']>) {
  const items = results.map(
    ({ target, problem }) => html`<li><bdi>${new Html(nameHtml(target))}</bdi> <span class="hint">${words(context, problem)}</span></li>`,
  );
  return html`<ul class="doomed">${items}</ul>`;
}

function goOn({ language }: PageContext, { refreshTo, backTo }: MessageModel) {
  const label = refreshTo !== undefined ? 'goOn' : backTo !== undefined ? 'backToFolder' : 'toFiles';
  return html`<a class="button primary" href="${refreshTo ?? backTo ?? '/home/'}">${language.text(label)}</a>`;
}
