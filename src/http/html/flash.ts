import { cookieValue } from '../../lib/headers/cookies.ts';
import { type Exchange, header } from '../request/exchange.ts';
import type { Language } from './pages/locales/language.ts';

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
