import { type ErrorCode, type Problem, ServiceError } from '../../lib/errors.ts';
import de from '../../web/texts/problems/de.json' with { type: 'json' };
import es from '../../web/texts/problems/es.json' with { type: 'json' };
import fr from '../../web/texts/problems/fr.json' with { type: 'json' };
import type { ErrorItem } from '../reply/error-reply.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { shownRefusal } from '../rest/held.ts';
import { languageOf } from './page-cookies.ts';

/** English messages come from the service itself. */
const translations: Readonly<Record<string, Readonly<Record<ErrorCode, string>>>> = { de, fr, es };

/** Codes of various problems: the service's own English words follow their text. */
const broadCodes: ReadonlySet<ErrorCode> = new Set([
  'bad-request',
  'metadata-invalid',
  'never-allowed',
  'unprocessable',
  'internal',
  'not-durable',
]);

/** A problem in the reader's language. */
interface ProblemWords {
  /** In the language; undefined where the service's own words are all that is said. */
  translated: string | undefined;
  /** The service's own words, in English, where they say more. */
  own: string | undefined;
}

/** The words for a problem, by its code. @param language tag of a language of the pages */
export function problemWords(language: string, { code, message }: Problem): ProblemWords {
  const translated = translations[language]?.[code];
  return { translated, own: translated === undefined || broadCodes.has(code) ? message : undefined };
}

/** The same as one line of text, with the member that it is about before it. */
export function problemText(language: string, problem: Problem): string {
  const { translated, own } = problemWords(language, problem);
  return [problem.relativePath, translated, own].filter((part) => part !== undefined).join(': ');
}

/** An item of an errors body for a problem; null for a success. */
export function problemItem(exchange: Exchange, problem: Problem | undefined, target?: string): ErrorItem {
  const message = problem ? messageFor(exchange, problem) : null;
  const { inspection, response } = problem instanceof ServiceError ? shownRefusal(exchange, problem) : {};
  return { target, message, inspection, response, durable: problem?.code === 'not-durable' ? false : undefined };
}

/** Whether `Prefer` has a preference (RFC 7240), as the page's script sends it. */
export function prefers(exchange: Exchange, preference: 'translated-messages' | 'stop-when-gone' | 'progress'): boolean {
  const items = (header(exchange, 'prefer') ?? '').split(',');
  return items.some((item) => item.split(';', 1)[0]?.trim().toLowerCase() === preference);
}

/** The message of an item of an errors body: in English, or in the reader's language for a client that prefers so. */
export function messageFor(exchange: Exchange, problem: Problem): string {
  const shown = problem instanceof ServiceError ? shownRefusal(exchange, problem).message : undefined;
  if (shown !== undefined) return shown;
  return problemText(prefers(exchange, 'translated-messages') ? languageOf(exchange).tag : 'en', problem);
}
