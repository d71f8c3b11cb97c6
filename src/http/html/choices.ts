import { ServiceError } from '../../lib/errors.ts';
import { cookieValue } from '../../lib/headers/cookies.ts';
import type { HttpContext } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { readSmallBody } from '../request/request-body.ts';
import { type Language, languageFor, languages } from './pages/locales/language.ts';
import { type Theme, themes } from './pages/page-context.ts';
import { type View, views } from './pages/view.ts';

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
export function postTheme(c: HttpContext): Promise<Response> {
  return keepChoice(c, 'theme', themes);
}

/** POST of a choice of the language: sets the cookie and leads back. */
export function postLanguage(c: HttpContext): Promise<Response> {
  return keepChoice(
    c,
    'language',
    languages.map(({ tag }) => tag),
  );
}

async function keepChoice(c: HttpContext, field: keyof typeof cookies, values: readonly string[]): Promise<Response> {
  const fields = new URLSearchParams((await readSmallBody(c.env, formLimitBytes)).toString('utf8'));
  const value = values.find((candidate) => candidate === fields.get(field));
  if (!value) throw new ServiceError('bad-request', `The field "${field}" must be one of ${values.join(', ')}.`);
  const life = value === 'system' ? 0 : 31_536_000;
  const cookie = `${cookies[field]}=${value}; Path=/; SameSite=strict; Max-Age=${life}`;
  const headers = { location: ownPage(fields.get('next')), 'set-cookie': cookie, 'cache-control': 'no-store' };
  return respond(c, { status: 303, headers });
}

/** Only a page of ours is gone back to (open redirect). */
function ownPage(next: string | null): string {
  return next !== null && /^\/(home\/|__svc__\/(login|openapi\.html))[\x21-\x7e]*$/.test(next) && !next.includes('\\') ? next : '/home/';
}
