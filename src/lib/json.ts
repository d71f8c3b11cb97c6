/** Maximum nesting depth of lists and objects in JSON that the service receives (docs/spec/http.md#bad-input). */
export const deepestJson = 64;

/** Thrown for JSON that is nested too deeply or that has too many values. */
export class JsonLimitError extends Error {}

interface JsonLimits {
  deepest?: number;
  /** Maximum number of values. Lists and objects count, and so do the values in them. */
  maxValues?: number;
}

/**
 * Parses JSON that the service receives. `JSON.parse` accepts several thousand levels, which would exhaust the stack of recursive code such
 * as `JSON.stringify`.
 *
 * @throws JsonLimitError if the text exceeds a limit
 * @throws SyntaxError for a text that is not JSON
 */
export function parseJson(text: string, { deepest = deepestJson, maxValues = Number.POSITIVE_INFINITY }: JsonLimits = {}): unknown {
  if (maxValues !== Number.POSITIVE_INFINITY || hasManyBrackets(text, deepest)) checkLimits(text, deepest, maxValues);
  return JSON.parse(text);
}

/** Returns whether a text has more opening brackets than `limit`. Most JSON has fewer brackets, so its depth need not be checked. */
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

function endOfText(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}

/** Returns whether a value is a JSON object, and not a list or null. */
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

/** Returns a member if the object itself has it. A plain lookup of a received name such as `constructor` could find an inherited member. */
export function ownMember<Value>(object: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
