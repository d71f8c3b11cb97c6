import { bdi, type Html, html, icon } from '../../../lib/html.ts';
import type { IconName } from '../../../lib/icon-shapes.ts';
import { languages } from './locales/language.ts';
import type { PageAccount, PageContext, Theme } from './page.ts';

/**
 * The menu of a page: account, other pages, password, API, colours, language and logout. It is a popover, which opens, closes and
 * restores the focus without a script.
 */
export function accountMenu(context: PageContext): Html {
  const { language, account } = context;
  const person = account?.isAnonymous === false ? account : undefined;
  return html`${account?.isAnonymous && signInLink(context)}
<button type="button" class="quiet opener" popovertarget="menu">${person ? whoIs(context, person) : anybody(context)}${icon('down')}</button>
<div id="menu" popover>
${person && html`<p class="me">${bdi(person.name)}</p>`}
${account?.hasQuota && html`<div id="space" hidden></div>`}
${placeLinks(context)}
${
  person?.mayChangePassword &&
  html`<a class="button quiet" href="/home/__svc__/password-update">${icon('key')}${language.text('changePassword')}</a>`
}
${context.showApiLink && !context.linked && html`<a class="button quiet" href="/__svc__/openapi.html">${icon('code')}${language.text('api')}</a>`}
${!context.linked && html`<hr>`}
${themeChoice(context)}
${languageChoice(context)}
${
  person?.hasSession &&
  html`<form method="post" action="/__svc__/logout"><button class="quiet">${icon('out')}${language.text('signOut')}</button></form>`
}
</div>`;
}

/** Links to the other pages of an account. Wide screens always show them; on narrow screens they are in the menu. */
export function places(context: PageContext): Html | false {
  const links = placeLinks(context);
  return links.length > 0 && html`<nav class="places" aria-label="${context.language.text('places')}">${links}</nav>`;
}

function placeLinks({ account, language, url }: PageContext): Html[] {
  const person = account?.isAnonymous === false ? account : undefined;
  const all = [
    [person?.maySeeRecent, 'recent', 'recent', 'recent'],
    [person?.maySeeDue, 'expectations', 'due', 'due'],
    [person?.mayShare, 'links', 'share', 'shared'],
    [account?.hasTrash, 'trash', 'trash', 'trash'],
    [account?.isInspected, 'held/', 'eye', 'held'],
    [person?.mayMakeTokens, 'tokens', 'code', 'tokens'],
  ] as const;
  return all
    .filter(([isOffered]) => isOffered)
    .map(([, name, shape, text]) => {
      const isHere = url === `/home/__svc__/${name}`;
      return html`<a class="button quiet to-place" href="/home/__svc__/${name}"${isHere && html` aria-current="page"`} title="${language.text(text)}">\
${icon(shape)}<span>${language.text(text)}</span></a>
`;
    });
}

function signInLink({ language, url }: PageContext) {
  return html`<a class="button quiet" href="/__svc__/login?next=${encodeURIComponent(url)}">${icon('key')}${language.text('signIn')}</a>`;
}

function anybody({ language }: PageContext) {
  const name = languages.find(({ tag }) => tag === language.tag)?.name;
  return html`${icon('globe')}<span class="hidden">${language.text('settings')} </span><span>${name}</span>`;
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
  /** URL of the page to which the browser returns after a choice. If it is undefined, the page's script handles the choice. */
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
