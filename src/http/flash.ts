import { cookieValue } from './authenticate.ts';
import { type Exchange, header } from './exchange.ts';
import type { Language } from './pages/locales/language.ts';

const flashCookie = 'SVC_FLASH';

/** What a form did, shown once on the next page. The cookie carries a code and a count, never text from a user. */
const flashCodes = ['uploaded', 'created', 'deleted', 'triggered', 'passwordChanged'] as const;
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
