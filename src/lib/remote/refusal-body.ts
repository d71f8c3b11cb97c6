import { isObject, JsonLimitError, parseJson } from '../json.ts';

/** Limit of a refusal's text in events. */
const longestTextCharacters = 1000;

/** The body of a refusal (docs/spec/authentication.md#refusal-by-the-endpoint). */
export interface RefusalBody {
  /** For the journal: a JSON object, or text up to `longestTextCharacters`. */
  response?: unknown;
  /** For clients, if the service's option `public_error` is on. */
  shown?: { message?: string; public_response?: unknown };
  /** Why the body is ignored. */
  leftOut?: string;
}

/** Parses a refusal: nothing, a text or a JSON object. */
export function readRefusal(body: Buffer): RefusalBody {
  const text = body.toString('utf8').trim();
  let response: unknown;
  try {
    response = parseJson(text);
  } catch (error) {
    if (error instanceof JsonLimitError) return { leftOut: error.message };
  }
  if (!isObject(response)) return text === '' ? {} : { response: text.slice(0, longestTextCharacters) };
  const { message, public_response } = response;
  const shown = { ...(typeof message === 'string' && { message }), ...(public_response !== undefined && { public_response }) };
  return { response, shown };
}
