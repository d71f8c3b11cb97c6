import { assetPaths } from './assets.ts';
import { type Html, html } from './html.ts';
import { type IconName, icon } from './icons.ts';
import type { PageContext, Theme } from './page-context.ts';

/** A page without its frame. */
export interface PageModel {
  /** Title of the window, before the service's own. */
  title: string;
  body: Html;
  /** Who is signed in, and where the account's own pages are. */
  account?: { name: string; isAnonymous: boolean; mayChangePassword: boolean; hasSession: boolean } | undefined;
  refreshTo?: string | undefined;
  /** Whether the page works with the script of the listing. */
  hasScript?: boolean;
}

/** The frame of every page. */
export function layout(context: PageContext, model: PageModel): string {
  const { appearance, language, theme } = context;
  const name = appearance.title || language.text('files');
  return html`<!doctype html>
<html lang="${language.tag}" dir="ltr"${theme !== 'system' && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${model.title === name ? name : `${model.title} – ${name}`}</title>
${model.refreshTo !== undefined && html`<meta http-equiv="refresh" content="0; url=${model.refreshTo}">`}
<link rel="icon" href="${appearance.logoPath ?? assetPaths.icon}">
<link rel="stylesheet" href="${assetPaths.style}">
${appearance.stylePath !== undefined && html`<link rel="stylesheet" href="${appearance.stylePath}">`}
${model.hasScript === true && html`<script src="${assetPaths.pageScript}" defer></script>`}
</head>
<body>
${model.hasScript === true && html`<a class="skip" href="#members">${language.text('skip')}</a>`}
<header class="top">
<a class="brand" href="/home/">${appearance.logoPath === undefined ? icon('files') : html`<img src="${appearance.logoPath}" alt="">`}<span>${name}</span></a>
<div class="account">
${model.account && (model.account.isAnonymous ? signInLink(context) : accountMenu(context, model.account))}
${themeSwitch(context)}
</div>
</header>
${model.body}
${footer(context)}
</body>
</html>
`.text;
}

function accountMenu({ language }: PageContext, account: NonNullable<PageModel['account']>) {
  return html`<span class="who"><bdi>${account.name}</bdi></span>
${
  account.mayChangePassword &&
  html`<a class="button quiet" href="/home/__svc__/password-update">${icon('key')}<span class="wide">${language.text('changePassword')}</span></a>`
}
${
  account.hasSession &&
  html`<form method="post" action="/__svc__/logout"><button class="quiet">${icon('out')}<span class="wide">${language.text('signOut')}</span></button></form>`
}`;
}

function signInLink({ language, url }: PageContext) {
  return html`<a class="button quiet" href="/__svc__/login?next=${encodeURIComponent(url)}">${icon('key')}${language.text('signIn')}</a>`;
}

const choices: readonly { theme: Theme; icon: IconName; text: 'themeSystem' | 'themeLight' | 'themeDark' }[] = [
  { theme: 'system', icon: 'system', text: 'themeSystem' },
  { theme: 'light', icon: 'sun', text: 'themeLight' },
  { theme: 'dark', icon: 'moon', text: 'themeDark' },
];

function themeSwitch({ language, theme, url }: PageContext) {
  return html`<form class="themes" method="post" action="/__svc__/theme"><fieldset><legend class="hidden">${language.text('theme')}</legend>
<input type="hidden" name="next" value="${url}">
${choices.map(
  (
    choice,
  ) => html`<button class="quiet" name="theme" value="${choice.theme}" aria-pressed="${choice.theme === theme ? 'true' : 'false'}" title="${language.text(choice.text)}">
${icon(choice.icon)}<span class="hidden">${language.text(choice.text)}</span></button>`,
)}
</fieldset></form>`;
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
