import { type Html, html, icon } from '../../../lib/html.ts';
import { accountMenu, places } from './account-menu.ts';
import { scriptTextsPath } from './asset-files.ts';
import { assetPaths } from './assets.ts';
import { type PageContext, pageStart } from './page.ts';

/** The content of a page, without its frame. */
export interface PageModel {
  /** Title of the page. The browser window shows it before the title of the service. */
  title: string;
  body: Html;
  refreshTo?: string | undefined;
  /** URL to which browsers without scripts are redirected. */
  unscriptedTo?: string | undefined;
  /** Whether the page loads the script of the file pages. */
  hasScript?: boolean;
  /** Further elements of the head. If set, the default style sheet is left out. */
  head?: Html;
}

/** Renders a page in the frame that all pages share. */
export function layout(context: PageContext, model: PageModel): string {
  const { appearance, language } = context;
  const name = appearance.title || language.text('files');
  return html`${pageStart(context)}
<title>${model.title === name ? name : `${model.title} – ${name}`}</title>
${model.refreshTo !== undefined && html`<meta http-equiv="refresh" content="0; url=${model.refreshTo}">`}
${model.unscriptedTo !== undefined && html`<noscript><meta http-equiv="refresh" content="0; url=${model.unscriptedTo}"></noscript>`}
<link rel="icon" href="${appearance.logoPath ?? assetPaths.icon}">
${model.head ?? html`<link rel="stylesheet" href="${assetPaths.style}">`}
${appearance.stylePath !== undefined && html`<link rel="stylesheet" href="${appearance.stylePath}">`}
${model.hasScript === true && language.tag !== 'en' && html`<link rel="modulepreload" href="${scriptTextsPath(assetPaths.pageScript, language.tag)}">`}
${model.hasScript === true && html`<script type="module" async src="${assetPaths.pageScript}"></script>`}
</head>
<body${model.hasScript === true && html` class="listing"`}>
${model.hasScript === true && html`<a class="skip" href="#members">${language.text('skip')}</a>`}
<header class="top">
${brand(context, name)}
${places(context)}<div class="account">
${accountMenu(context)}
</div>
</header>
${model.body}
${footer(context)}
</body>
</html>
`.text;
}

/** Renders the name and logo of the service, as a link to the home page. For visitors without an account, they are not a link. */
function brand({ appearance, linked }: PageContext, name: string): Html {
  const content = html`${appearance.logoPath === undefined ? icon('files') : html`<img src="${appearance.logoPath}" alt="">`}<span>${name}</span>`;
  return linked ? html`<span class="brand">${content}</span>` : html`<a class="brand" href="/home/">${content}</a>`;
}

function footer({ appearance }: PageContext) {
  if (appearance.footer === '' && appearance.footerLinks.length === 0) return undefined;
  return html`<footer>
${appearance.footer !== '' && html`<p>${appearance.footer}</p>`}
${
  appearance.footerLinks.length > 0 &&
  html`<ul>${appearance.footerLinks.map(({ label, url }) => html`<li><a href="${url}" rel="noreferrer">${label}</a></li>`)}</ul>`
}
</footer>`;
}
