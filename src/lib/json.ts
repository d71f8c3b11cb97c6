/** Deepest nesting of JSON from outside, in lists and objects one inside the other (docs/spec/http.md#bad-input). */
export const deepestJson = 64;

/** JSON that nests too deep or holds too many values. */
export class JsonLimitError extends Error {}

interface JsonLimits {
  /** In lists and objects one inside the other. */
  deepest?: number;
  /** All values, those in lists and objects included. */
  maxValues?: number;
}

/**
 * Parses JSON from outside. `JSON.parse` takes some thousand levels, which exhaust the stack of code that recurses, such as `JSON.stringify`.
 *
 * @throws JsonLimitError above the limits
 * @throws SyntaxError for a text that is not JSON
 */
export function parseJson(text: string, { deepest = deepestJson, maxValues = Number.POSITIVE_INFINITY }: JsonLimits = {}): unknown {
  if (maxValues !== Number.POSITIVE_INFINITY || hasManyBrackets(text, deepest)) checkLimits(text, deepest, maxValues);
  return JSON.parse(text);
}

/** Whether the text has more opening brackets than allowed levels. Most JSON has fewer and needs no further check. */
function hasManyBrackets(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of '[{')
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (++count > limit) return true;
  return false;
}

function checkLimits(text: string, deepest: number, maxValues: number): void {
  let depth = 0;
  let values = 1;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfText(text, at);
        break;
      case '[':
      case '{':
        values++;
        if (++depth > deepest) throw new JsonLimitError(`it is nested deeper than ${deepest} levels`);
        break;
      case ']':
      case '}':
        depth--;
        break;
      case ',':
        values++;
        break;
    }
    if (values > maxValues) throw new JsonLimitError(`it has more than ${maxValues} values`);
  }
}

/** Finds the quotation mark that ends a text. */
function endOfText(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}

/** Whether a value is a JSON object: neither a list nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** An own member of an object: a name from outside, such as `constructor`, may be an inherited one. */
export function ownMember<Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
