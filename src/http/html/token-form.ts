import type { Account } from '../../accounts/account.ts';
import { escapeFormValue, Html, html } from './pages/html.ts';
import type { PageTextName } from './pages/locales/language.ts';
import type { PageContext } from './pages/page.ts';

/** Lifetimes that the form offers, in days, besides the maximum one. */
const offeredDays = [1, 7, 30, 90, 365];

/** The permissions that the form offers, in its order. The user chooses each one separately. */
const rightTexts = {
  'allow-read': 'mayRead',
  'allow-list': 'mayList',
  'allow-traverse': 'mayTraverse',
  'allow-write': 'mayWrite',
  'allow-create-file': 'mayCreateFile',
  'allow-create-folder': 'mayCreateFolder',
  'allow-rename': 'mayRename',
  'allow-delete-file': 'mayDeleteFile',
  'allow-delete-folder': 'mayDeleteFolder',
  'allow-set-attributes': 'maySetAttributes',
  'allow-share': 'mayShare',
  'allow-create-token': 'mayCreateToken',
} as const satisfies Record<string, PageTextName>;

interface TokenForm {
  url: string;
  account: Account;
  services: readonly { uuid: string; type: string }[];
  /** The fields of a refused request, so that the user need not type them again. */
  fields: URLSearchParams | undefined;
}

/** Renders the form for a new token. If the user fills in only a name, the token has all rights of the account. */
export function tokenForm({ language }: PageContext, { url, account, services, fields }: TokenForm): Html {
  const typed = (name: string) => new Html(escapeFormValue(fields?.get(name) ?? ''));
  const chosen = (name: string, value: string) => fields?.getAll(name).includes(value) === true && html` checked`;
  const box = (name: string, value: string, label: Html) =>
    html`<label class="line"><input type="checkbox" name="${name}" value="${value}"${chosen(name, value)}> ${label}</label>
`;
  const rights = Object.entries(rightTexts).filter(([keyword]) => account.permissions.mayGive(keyword));
  const longest = account.tokens.maximum_days;
  const lives = [...new Set([...offeredDays.filter((days) => days < longest), longest])];
  const life = Number(fields?.get('days') ?? Math.min(90, longest));
  return html`<form class="fields" method="post" action="${url}">
<label for="name">${language.text('tokenName')}</label>
<input id="name" name="name" required maxlength="200" autocomplete="off" value="${typed('name')}">
<label for="path">${language.text('tokenPaths')}</label>
<textarea id="path" name="path" rows="2" spellcheck="false" autocapitalize="none">${typed('path')}</textarea>
<fieldset><legend>${language.text('tokenRights')}</legend>
${rights.map(([keyword, text]) => box('permissions', keyword, html`${language.text(text)}`))}</fieldset>
${
  services.length > 0 &&
  html`<fieldset><legend>${language.text('tokenServices')}</legend>
${services.map(({ uuid, type }) => box('services', uuid, html`${type.toUpperCase()} <code>${uuid}</code>`))}</fieldset>`
}
<label for="addresses">${language.text('tokenAddresses')}</label>
<textarea id="addresses" name="addresses" rows="2" spellcheck="false" autocapitalize="none" placeholder="192.0.2.0/24">${typed('addresses')}</textarea>
<label for="days">${language.text('tokenLife')}</label>
<select id="days" name="days">${lives.map((days) => html`<option value="${days}"${days === life && html` selected`}>${language.text('lifeDays', { count: days })}</option>`)}</select>
<p class="row"><button type="submit" class="primary" name="action" value="create">${language.text('createToken')}</button></p>
</form>`;
}

/** Converts the fields of the form to the JSON body that the REST API takes for a new token. */
export function formOrder(fields: URLSearchParams): Record<string, unknown> {
  const lines = (name: string) => some((fields.get(name) ?? '').split(/\r\n|\r|\n/).filter((line) => line.trim() !== ''));
  const list = (name: string) => some(fields.getAll(name));
  return {
    name: fields.get('name')?.trim() ?? '',
    path: lines('path'),
    permissions: list('permissions'),
    services: list('services'),
    addresses: lines('addresses')?.map((line) => line.trim()),
    expires: Number(fields.get('days')) * 86_400,
  };
}

function some(items: string[]): string[] | undefined {
  return items.length > 0 ? items : undefined;
}
