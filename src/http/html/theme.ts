import { ServiceError } from '../../lib/errors.ts';
import type { HttpContext } from '../environment.ts';
import { respond } from '../reply/respond.ts';
import { readSmallBody } from '../request/request-body.ts';
import { type Theme, themes } from './pages/page-context.ts';

/** Name of the cookie that keeps the reader's choice of colours; the page's script sets it too. */
export const themeCookie = 'SVC_THEME';

/** Largest body of the form, in bytes. */
const formLimitBytes = 16 * 1024;

/** The theme that a cookie names; `system` when it names none. */
export function themeOf(cookie: string | undefined): Theme {
  return themes.find((theme) => theme === cookie) ?? 'system';
}

/** POST of a choice of colours, for browsers without scripts: sets the cookie and leads back. */
export async function postTheme(c: HttpContext): Promise<Response> {
  const fields = new URLSearchParams((await readSmallBody(c.env, formLimitBytes)).toString('utf8'));
  const theme = themes.find((candidate) => candidate === fields.get('theme'));
  if (!theme) throw new ServiceError('bad-request', `The field "theme" must be one of ${themes.join(', ')}.`);
  const life = theme === 'system' ? 0 : 31_536_000;
  const cookie = `${themeCookie}=${theme}; Path=/; SameSite=strict; Max-Age=${life}`;
  const headers = { location: ownPage(fields.get('next')), 'set-cookie': cookie, 'cache-control': 'no-store' };
  return respond(c, { status: 303, headers });
}

/** Only a page of ours is gone back to (open redirect). */
function ownPage(next: string | null): string {
  return next !== null && /^\/(home\/|__svc__\/login)[\x21-\x7e]*$/.test(next) && !next.includes('\\') ? next : '/home/';
}
