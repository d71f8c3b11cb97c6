import { isObject, JsonLimitError, parseJson } from '../json.ts';

/** Maximum number of characters of a failure text that events keep. */
const longestTextCharacters = 1000;

/** The body by which a remote endpoint explains a refusal (docs/spec/authentication.md#refusal-by-the-endpoint). */
export interface RefusalBody {
  /** The whole body, for the journal; as text if it is not a JSON object. */
  response?: unknown;
  /** The part that clients see with `public_error`. */
  shown?: { message?: string; public_response?: unknown };
  /** Why the body is not taken. */
  leftOut?: string;
}

/** Reads the body of a refusal; it may be empty, text, or a JSON object. */
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
