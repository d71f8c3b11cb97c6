import { bdi, type Html, html, icon } from '../../../lib/html.ts';
import type { IconName } from '../../../lib/icon-shapes.ts';
import { languages } from './locales/language.ts';
import type { PageAccount, PageContext, Theme } from './page.ts';

/**
 * The menu of a page with account, colours, language, password, API and logout. It is a popover, which opens, closes and restores the focus
 * without a script.
 */
export function accountMenu(context: PageContext): Html {
  const { language, account } = context;
  const person = account?.isAnonymous === false ? account : undefined;
  return html`${account?.isAnonymous && signInLink(context)}
<button type="button" class="quiet opener" popovertarget="menu">${person ? whoIs(context, person) : anybody(context)}${icon('down')}</button>
<div id="menu" popover>
${person && html`<p class="me">${bdi(person.name)}</p>`}
${account?.hasQuota && html`<div id="space" hidden></div>`}
${themeChoice(context)}
${languageChoice(context)}
<hr>
${person?.maySeeRecent && html`<a class="button quiet" href="/home/__svc__/recent">${icon('recent')}${language.text('recent')}</a>`}
${person?.maySeeDue && html`<a class="button quiet" href="/home/__svc__/expectations">${icon('due')}${language.text('due')}</a>`}
${person?.mayShare && html`<a class="button quiet" href="/home/__svc__/links">${icon('share')}${language.text('shared')}</a>`}
${account?.hasTrash && html`<a class="button quiet" href="/home/__svc__/trash">${icon('trash')}${language.text('trash')}</a>`}
${account?.isInspected && html`<a class="button quiet" href="/home/__svc__/held/">${icon('eye')}${language.text('held')}</a>`}
${
  person?.mayChangePassword &&
  html`<a class="button quiet" href="/home/__svc__/password-update">${icon('key')}${language.text('changePassword')}</a>`
}
${person?.mayMakeTokens && html`<a class="button quiet" href="/home/__svc__/tokens">${icon('code')}${language.text('tokens')}</a>`}
${context.showApiLink && html`<a class="button quiet" href="/__svc__/openapi.html">${icon('code')}${language.text('api')}</a>`}
${
  person?.hasSession &&
  html`<form method="post" action="/__svc__/logout"><button class="quiet">${icon('out')}${language.text('signOut')}</button></form>`
}
</div>`;
}

function signInLink({ language, url }: PageContext) {
  return html`<a class="button quiet" href="/__svc__/login?next=${encodeURIComponent(url)}">${icon('key')}${language.text('signIn')}</a>`;
}

function anybody({ language }: PageContext) {
  return html`${icon('settings')}<span class="hidden">${language.text('settings')}</span>`;
}

function whoIs({ language }: PageContext, { name }: PageAccount) {
  const initial = /^[\p{L}\p{N}]/u.exec(name)?.[0].toLocaleUpperCase(language.tag);
  return html`<span class="avatar" aria-hidden="true">${initial ?? icon('person')}</span>\
<span class="hidden">${language.text('account')} </span><span class="who"><bdi>${name}</bdi></span>`;
}

const themes: readonly { theme: Theme; icon: IconName; text: 'themeSystem' | 'themeLight' | 'themeDark' }[] = [
  { theme: 'system', icon: 'system', text: 'themeSystem' },
  { theme: 'light', icon: 'sun', text: 'themeLight' },
  { theme: 'dark', icon: 'moon', text: 'themeDark' },
];

interface ChoiceContext extends Pick<PageContext, 'language' | 'theme'> {
  /** URL of the page to which a choice returns. Without it the page's script handles the choice. */
  url?: string;
}

/** Renders the buttons with which the user chooses the colours. */
export function themeChoice({ language, theme, url }: ChoiceContext): Html {
  const buttons = themes.map(
    (choice) =>
      html`<button class="quiet" name="theme" value="${choice.theme}"${pressed(choice.theme === theme)}>${icon(choice.icon)}${language.text(choice.text)}</button>`,
  );
  return choiceForm('theme', language.text('theme'), url, buttons);
}

/** Renders the buttons with which the user chooses the language. */
export function languageChoice({ language, url }: ChoiceContext): Html {
  const buttons = languages.map(
    ({ tag, name }) =>
      html`<button class="quiet" name="language" value="${tag}" lang="${tag}"${pressed(tag === language.tag)}>${name}</button>`,
  );
  return choiceForm('language', language.text('language'), url, buttons);
}

function choiceForm(name: string, legend: string, url: string | undefined, buttons: readonly Html[]) {
  const target = url !== undefined && html` method="post" action="/__svc__/${name}"`;
  return html`<form class="choice ${name}"${target}><fieldset><legend>${legend}</legend>
${url !== undefined && html`<input type="hidden" name="next" value="${url}">`}
${buttons}
</fieldset></form>`;
}

function pressed(isChosen: boolean) {
  return html` aria-pressed="${isChosen ? 'true' : 'false'}"`;
}
