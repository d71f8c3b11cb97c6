import { ServiceError } from '../../lib/errors.ts';
import { cookieValue } from '../../lib/headers/header-fields.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { readSmallBody } from '../request/request-body.ts';
import { type Language, languageFor, languages } from './pages/locales/language.ts';
import { type Theme, themes, type View, views } from './pages/page.ts';

const flashCookie = 'SVC_FLASH';

/** What a form did, shown once on the next page. The cookie carries a code and a count, never text from a user. */
const flashCodes = ['uploaded', 'created', 'deleted', 'moved', 'copied', 'triggered', 'passwordChanged'] as const;
export type FlashCode = (typeof flashCodes)[number];

/** The `Set-Cookie` line that has the next page show a message. */
export function flashCookieLine(code: FlashCode, count: number): string {
  return `${flashCookie}=${code}-${count}; Path=/home/; HttpOnly; SameSite=strict; Max-Age=60`;
}

/** The message to show, and the `Set-Cookie` line that forgets it. */
export function takeFlash(
  exchange: Exchange,
  language: Language,
): { flash: { isError: boolean; text: string } | undefined; clearCookie: string | undefined } {
  const value = cookieValue(header(exchange, 'cookie'), flashCookie);
  if (value === undefined) return { flash: undefined, clearCookie: undefined };
  const match = /^([a-zA-Z]+)-(\d{1,6})$/.exec(value);
  const code = flashCodes.find((candidate) => candidate === match?.[1]);
  return {
    flash: code && { isError: false, text: language.text(code, { count: Number(match?.[2]) }) },
    clearCookie: `${flashCookie}=; Path=/home/; HttpOnly; SameSite=strict; Max-Age=0`,
  };
}

/** Path of the page that shows what the endpoint says of a refused login; the cookie goes nowhere else. */
const loginPath = '/__svc__/login';

/** Longest message that goes through a cookie, in characters. */
const longestMessageCharacters = 300;

/**
 * The `Set-Cookie` line that has the login page show the endpoint's message (`public_error`), which so stands in no URL. Lax, as a
 * browser that comes from another site is redirected, too.
 */
export function loginMessageLine(message: string): string {
  return `${flashCookie}=${Buffer.from(oneLine(message)).toString('base64url')}; Path=${loginPath}; HttpOnly; SameSite=Lax; Max-Age=60`;
}

/** The message to show on the login page, and the `Set-Cookie` line that forgets it. */
export function takeLoginMessage(exchange: Exchange): { message?: string; clearCookie?: string } {
  const value = cookieValue(header(exchange, 'cookie'), flashCookie);
  if (value === undefined || !exchange.service.options.public_error) return {};
  const message = oneLine(Buffer.from(value, 'base64url').toString('utf8'));
  return { ...(message === '' ? {} : { message }), clearCookie: `${flashCookie}=; Path=${loginPath}; HttpOnly; SameSite=Lax; Max-Age=0` };
}

function oneLine(text: string): string {
  const shown = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return [...shown.slice(0, 2 * longestMessageCharacters)].slice(0, longestMessageCharacters).join('');
}

/** Cookies that keep the reader's choices; the page's script sets those of the colours and of the view, too. */
const cookies = { theme: 'SVC_THEME', language: 'SVC_LANGUAGE' } as const;
const viewCookie = 'SVC_VIEW';

/** Largest body of a form with a choice, in bytes. */
const formLimitBytes = 16 * 1024;

/** The colours that a reader chose; `system` when none. */
export function themeOf(exchange: Pick<Exchange, 'incoming'>): Theme {
  const chosen = cookieValue(header(exchange, 'cookie'), cookies.theme);
  return themes.find((theme) => theme === chosen) ?? 'system';
}

/** The language that a reader chose, else the one that the browser asks for; dates and numbers are those of the browser's region. */
export function languageOf(exchange: Pick<Exchange, 'incoming'>): Language {
  const chosen = cookieValue(header(exchange, 'cookie'), cookies.language);
  return languageFor(header(exchange, 'accept-language'), chosen);
}

/** Whether listings are shown as a list or as a grid (`?view=grid`), else as chosen before; and the `Set-Cookie` line that keeps a new choice. */
export function viewOf(exchange: Exchange): { view: View; cookie: string | undefined } {
  const asked = new URLSearchParams(exchange.target.query).get('view');
  const chosen = views.find((view) => view === asked);
  const kept = views.find((view) => view === cookieValue(header(exchange, 'cookie'), viewCookie));
  return {
    view: chosen ?? kept ?? 'list',
    cookie: chosen && `${viewCookie}=${chosen}; Path=/home/; SameSite=strict; Max-Age=31536000`,
  };
}

/** POST of a choice of colours: sets the cookie and leads back. */
export function postTheme(exchange: Exchange): Promise<Response> {
  return keepChoice(exchange, 'theme', themes);
}

/** POST of a choice of the language: sets the cookie and leads back. */
export function postLanguage(exchange: Exchange): Promise<Response> {
  return keepChoice(
    exchange,
    'language',
    languages.map(({ tag }) => tag),
  );
}

async function keepChoice(exchange: Exchange, field: keyof typeof cookies, values: readonly string[]): Promise<Response> {
  const fields = new URLSearchParams((await readSmallBody(exchange, formLimitBytes)).toString('utf8'));
  const value = values.find((candidate) => candidate === fields.get(field));
  if (!value) throw new ServiceError('bad-request', `The field "${field}" must be one of ${values.join(', ')}.`);
  const life = value === 'system' ? 0 : 31_536_000;
  const cookie = `${cookies[field]}=${value}; Path=/; SameSite=strict; Max-Age=${life}`;
  const headers = { location: ownPage(fields.get('next')), 'set-cookie': cookie, 'cache-control': 'no-store' };
  return respond(exchange, { status: 303, headers });
}

/** Only a page of ours is gone back to (open redirect). */
function ownPage(next: string | null): string {
  return next !== null && /^\/(home\/|__svc__\/(login|openapi\.html))[\x21-\x7e]*$/.test(next) && !next.includes('\\') ? next : '/home/';
}
