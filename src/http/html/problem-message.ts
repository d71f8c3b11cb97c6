import type { Problem } from '../../lib/errors.ts';
import type { ErrorItem } from '../reply/error-reply.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { languageOf } from './choices.ts';
import { problemText } from './pages/locales/problem-text.ts';

/** What a client sends that shows messages to people (RFC 7240): the page's script does. */
const preference = /(?:^|,)\s*translated-messages\s*(?:[;,]|$)/i;

/** An item of an errors body for a problem; null for a success. */
export function problemItem(exchange: Exchange, problem: Problem | undefined, target?: string): ErrorItem {
  const message = problem ? messageFor(exchange, problem) : null;
  return { target, message, durable: problem?.code === 'not-durable' ? false : undefined };
}

/** The message of an item of an errors body: in English, or in the reader's language for a client that prefers so. */
export function messageFor(exchange: Exchange, problem: Problem): string {
  const isTranslated = preference.test(header(exchange, 'prefer') ?? '');
  return problemText(isTranslated ? languageOf(exchange).tag : 'en', problem);
}
