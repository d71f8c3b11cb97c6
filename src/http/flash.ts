import { cookieValue } from './authenticate.ts';
import { type Exchange, header } from './exchange.ts';

const flashCookie = 'SVC_FLASH';

/** What a form did, shown once on the next page. The cookie carries a code and a count, never text from a user. */
const messages = {
  uploaded: (count: number) => (count === 1 ? 'The file was uploaded.' : `${count} files were uploaded.`),
  created: () => 'The folder was created.',
  deleted: (count: number) => (count === 1 ? 'One item was deleted.' : `${count} items were deleted.`),
  triggered: (count: number) => (count === 1 ? 'Done for one item.' : `Done for ${count} items.`),
} as const;
export type FlashCode = keyof typeof messages;

/** The `Set-Cookie` line that has the next page show a message. */
export function flashCookieLine(code: FlashCode, count: number): string {
  return `${flashCookie}=${code}-${count}; Path=/home/; HttpOnly; SameSite=strict; Max-Age=60`;
}

/** The message to show, and the `Set-Cookie` line that forgets it. */
export function takeFlash(exchange: Exchange): { flash: { isError: boolean; text: string } | undefined; clearCookie: string | undefined } {
  const value = cookieValue(header(exchange, 'cookie'), flashCookie);
  if (value === undefined) return { flash: undefined, clearCookie: undefined };
  const match = /^([a-z]+)-(\d{1,6})$/.exec(value);
  const message = match && Object.hasOwn(messages, match[1] as string) ? messages[match[1] as FlashCode] : undefined;
  return {
    flash: message && { isError: false, text: message(Number(match?.[2])) },
    clearCookie: `${flashCookie}=; Path=/home/; HttpOnly; SameSite=strict; Max-Age=0`,
  };
}
