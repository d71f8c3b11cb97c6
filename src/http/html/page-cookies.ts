import { nameInText } from '../../lib/display-name.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { cookie, type Exchange, header } from '../request/exchange.ts';
import { readSmallForm } from '../request/request-body.ts';
import { type Language, languageFor, languages } from './pages/locales/language.ts';
import { type Theme, themes, type View, views } from './pages/page.ts';

/** Cookies that keep the user's choices. The page's script sets the cookies of the theme and the view, too. */
const choiceCookies = { theme: 'SVC_THEME', language: 'SVC_LANGUAGE', view: 'SVC_VIEW' } as const;

export const keptForYear = 'SameSite=strict; Max-Age=31536000';

/** Returns the theme that the user chose; `system` without a choice. */
export function readTheme(exchange: Pick<Exchange, 'incoming'>): Theme {
  const chosen = cookie(exchange, choiceCookies.theme);
  return themes.find((theme) => theme === chosen) ?? 'system';
}

/** Returns the language that the user chose, or else the browser's. Dates and numbers follow the browser's region (as in `en-GB`). */
export function readLanguage(exchange: Pick<Exchange, 'incoming'>): Language {
  return languageFor(header(exchange, 'accept-language'), cookie(exchange, choiceCookies.language));
}

/** Reads the view of listings from the query (`?view=grid`), or else from the cookie. For a new choice, `line` is the `Set-Cookie` line. */
export function readView(exchange: Exchange): { view: View; line: string | undefined } {
  const asked = new URLSearchParams(exchange.target.query).get('view');
  const chosen = views.find((view) => view === asked);
  const kept = views.find((view) => view === cookie(exchange, choiceCookies.view));
  return { view: chosen ?? kept ?? 'list', line: chosen && `${choiceCookies.view}=${chosen}; Path=/home/; ${keptForYear}` };
}

/** Answers POST of a theme: sets the cookie and redirects to the previous page. */
export function postTheme(exchange: Exchange): Promise<Response> {
  return keepChoice(exchange, 'theme', themes);
}

/** Answers POST of a language: sets the cookie and redirects to the previous page. */
export function postLanguage(exchange: Exchange): Promise<Response> {
  const tags = languages.map(({ tag }) => tag);
  return keepChoice(exchange, 'language', tags);
}

async function keepChoice(exchange: Exchange, field: 'theme' | 'language', values: readonly string[]): Promise<Response> {
  const fields = await readSmallForm(exchange);
  const value = values.find((candidate) => candidate === fields.get(field));
  if (!value) throw new ServiceError('bad-request', `The field "${field}" must be one of ${values.join(', ')}.`);
  // `Lax`, because people open links from mails.
  const life = `SameSite=Lax; Max-Age=${value === 'system' ? 0 : 31_536_000}`;
  const next = fields.get('next') ?? '';
  // Redirect only to pages of this service, to prevent an open redirect.
  const isSafe = /^\/(home\/|__svc__\/(login|openapi\.html|s\/))[\x21-\x7e]*$/.test(next) && !next.includes('\\');
  const headers = {
    location: isSafe ? next : '/home/',
    'set-cookie': `${choiceCookies[field]}=${value}; Path=/; ${life}`,
    'cache-control': 'no-store',
  };
  return respond(exchange, { status: 303, headers });
}

const flashCookie = 'SVC_FLASH';

/** Results of forms. The next page shows the result once. The cookie contains a code, a count and, after a trigger, what it was run on. */
const flashCodes = [
  'uploaded',
  'created',
  'deleted',
  'moved',
  'copied',
  'triggered',
  'passwordChanged',
  'restored',
  'ended',
  'heldForReview',
  'withdrawn',
  'revoked',
  'tokensRevoked',
] as const;
export type FlashCode = (typeof flashCodes)[number];

export interface Flash {
  isError: boolean;
  text: string;
}

/** Builds the `Set-Cookie` line that makes the next page show a message. @param ran position of the trigger, and name of the first item */
export function flashCookieLine(code: FlashCode, count: number, ran?: { trigger: number; name: string }): string {
  const about = ran ? `-${ran.trigger}-${Buffer.from(ran.name).toString('base64url')}` : '';
  return `${flashCookie}=${code}-${count}${about}; Path=/home/; HttpOnly; SameSite=strict; Max-Age=60`;
}

/** Builds the redirect to a page that then shows a message. */
export function flashRedirect(location: string, code: FlashCode, count: number): Reply {
  return { status: 303, headers: { location, 'set-cookie': flashCookieLine(code, count), 'cache-control': 'no-store' } };
}

/** Returns the message to show, and the `Set-Cookie` line that removes it. @param triggers the triggers of the client, for messages about them */
export function takeFlash(
  exchange: Exchange,
  language: Language,
  triggers: readonly { name: string }[] = [],
): { flash?: Flash | undefined; clearLine?: string } {
  const value = cookie(exchange, flashCookie);
  if (value === undefined) return {};
  const [, found, count, position, item = ''] = /^([a-zA-Z]+)-(\d{1,6})(?:-(\d{1,4})-([\w-]{1,400}))?$/.exec(value) ?? [];
  const code = flashCodes.find((candidate) => candidate === found);
  const trigger = triggers[Number(position)]?.name ?? '';
  const values = { count: Number(count), trigger, name: nameInText(Buffer.from(item, 'base64url').toString()) };
  return {
    flash: code && (code !== 'triggered' || trigger !== '') ? { isError: false, text: language.text(code, values) } : undefined,
    clearLine: `${flashCookie}=; Path=/home/; HttpOnly; SameSite=strict; Max-Age=0`,
  };
}

/**
 * Attributes of the cookie with the authentication endpoint's message about a refused login (`public_error`). The cookie keeps the message
 * out of URLs. Browsers send the cookie only to the login page. It is `Lax`, because the browser can come to that page from another site.
 */
const loginMessageAttributes = 'Path=/__svc__/login; HttpOnly; SameSite=Lax';

const longestMessageCharacters = 300;

/** Builds the `Set-Cookie` line that makes the login page show a message. */
export function loginMessageLine(message: string): string {
  return `${flashCookie}=${Buffer.from(oneLine(message)).toString('base64url')}; ${loginMessageAttributes}; Max-Age=60`;
}

/** Returns the message to show on the login page, and the `Set-Cookie` line that removes it. */
export function takeLoginMessage(exchange: Exchange): { message?: string | undefined; clearLine?: string } {
  const value = cookie(exchange, flashCookie);
  if (value === undefined || !exchange.service.options.public_error) return {};
  const message = oneLine(Buffer.from(value, 'base64url').toString('utf8')) || undefined;
  return { message, clearLine: `${flashCookie}=; ${loginMessageAttributes}; Max-Age=0` };
}

function oneLine(text: string): string {
  const shown = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return [...shown.slice(0, 2 * longestMessageCharacters)].slice(0, longestMessageCharacters).join('');
}
