import { isObject, JsonLimitError, parseJson } from '../json.ts';

/** Maximum number of characters of a refusal's text that events keep. */
const longestTextCharacters = 1000;

/** The body in which a remote endpoint explains a refusal (docs/spec/authentication.md#refusal-by-the-endpoint). */
export interface RefusalBody {
  /** The body, for the journal: a JSON object, or any other body as text, cut to `longestTextCharacters`. */
  response?: unknown;
  /** The part that clients see if the service's option `public_error` is on. */
  shown?: { message?: string; public_response?: unknown };
  /** The reason why the body is ignored. */
  leftOut?: string;
}

/** Parses the body of a refusal, which may be empty, a text or a JSON object. */
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
