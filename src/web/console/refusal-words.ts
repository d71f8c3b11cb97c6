import { broadCodes, type ErrorCode } from '../../lib/errors.ts';
import de from '../texts/problems/de.json' with { type: 'json' };
import es from '../texts/problems/es.json' with { type: 'json' };
import fr from '../texts/problems/fr.json' with { type: 'json' };
import { colon } from './language.ts';

const translations: Readonly<Record<string, Readonly<Record<string, string>>>> = { de, es, fr };

/**
 * Translates an error code of the API into the language of the page. If the code stands for several problems, the message is added after
 * the translation. If the code is unknown, the message is returned unchanged.
 *
 * @param message the API's own message, in English
 */
export function refusalWords(code: string, message: string): string {
  const language = document.documentElement.lang;
  const texts = translations[language];
  if (!texts || !Object.hasOwn(texts, code)) return message;
  const words = texts[code] as string;
  const sentence = words.charAt(0).toLocaleUpperCase(language) + words.slice(1);
  return broadCodes.has(code as ErrorCode) ? `${sentence}${colon}${message}` : sentence;
}
