import { broadCodes, type ErrorCode, type Problem, ServiceError } from '../../lib/errors.ts';
import { translatedMessage } from '../../lib/translated-text.ts';
import deDetails from '../../web/texts/details/de.json' with { type: 'json' };
import esDetails from '../../web/texts/details/es.json' with { type: 'json' };
import frDetails from '../../web/texts/details/fr.json' with { type: 'json' };
import de from '../../web/texts/problems/de.json' with { type: 'json' };
import es from '../../web/texts/problems/es.json' with { type: 'json' };
import fr from '../../web/texts/problems/fr.json' with { type: 'json' };
import type { ErrorItem } from '../reply/error-reply.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { shownRefusal } from '../rest/held.ts';
import { readLanguage } from './page-cookies.ts';

/** Translated messages. English has no entry, because the service's own messages are English. */
const translations: Readonly<Record<string, Readonly<Record<ErrorCode, string>>>> = { de, fr, es };

/** Translated messages of codes that stand for several problems, by the English message (`translatedMessage`). */
const details: Readonly<Record<string, Readonly<Record<string, string>>>> = { de: deDetails, fr: frDetails, es: esDetails };

/** A problem in the reader's language. */
interface ProblemWords {
  /** The text in the reader's language; undefined if there is only the service's own message. */
  translated: string | undefined;
  /** The service's own message, in English, if it says more than the translated text or if there is no translated text. */
  own: string | undefined;
}

/** Returns the texts for a problem by its code. @param language tag of a language of the pages */
export function problemWords(language: string, { code, message }: Problem): ProblemWords {
  const translated = translations[language]?.[code];
  const detail = broadCodes.has(code) ? translatedMessage(details[language] ?? {}, message) : undefined;
  if (detail !== undefined) return { translated: detail, own: undefined };
  return { translated, own: translated === undefined || broadCodes.has(code) ? message : undefined };
}

/** Returns one line: the name of the member that has the problem, then the texts of `problemWords`. */
export function problemText(language: string, problem: Problem): string {
  const { translated, own } = problemWords(language, problem);
  return [problem.relativePath, translated, own].filter((part) => part !== undefined).join(': ');
}

/** Returns the item for a problem in the `errors` of a JSON reply. The message is null if there is no problem. */
export function problemItem(exchange: Exchange, problem: Problem | undefined, target?: string): ErrorItem {
  const message = problem ? messageFor(exchange, problem) : null;
  const { inspection, response } = problem instanceof ServiceError ? shownRefusal(exchange, problem) : {};
  return { target, message, inspection, response, durable: problem?.code === 'not-durable' ? false : undefined };
}

/** Whether the client sent a preference in the `Prefer` header (RFC 7240), as the page's script does. */
export function prefers(exchange: Exchange, preference: 'translated-messages' | 'stop-when-gone' | 'progress'): boolean {
  const items = (header(exchange, 'prefer') ?? '').split(',');
  return items.some((item) => item.split(';', 1)[0]?.trim().toLowerCase() === preference);
}

/** Returns the message for an item in the `errors` of a JSON reply. It is in English unless the client prefers `translated-messages`. */
export function messageFor(exchange: Exchange, problem: Problem): string {
  const shown = problem instanceof ServiceError ? shownRefusal(exchange, problem).message : undefined;
  if (shown !== undefined) return shown;
  return problemText(prefers(exchange, 'translated-messages') ? readLanguage(exchange).tag : 'en', problem);
}
