import { pause } from '../pause.ts';

/** JSON with large numbers, the order of members and repeated names, which `JSON.parse` would change. */
export type Json =
  | { kind: 'object'; members: [name: string, value: Json][] }
  | { kind: 'array'; values: Json[] }
  | { kind: 'string'; text: string }
  /** A number, `true`, `false` or `null`. */
  | { kind: 'other'; text: string };

const token =
  /[\t\n\r ]*(?:([[\]{},:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|$)/y;

type Expected = 'value' | 'value-or-end' | 'name' | 'name-or-end' | 'colon' | 'comma-or-end' | 'nothing';

/**
 * Reads JSON of any depth (RFC 8259), yielding to the page.
 * @returns undefined when it is not JSON
 * @throws the reason of `signal` once that aborts
 */
export async function readJson(text: string, signal: AbortSignal): Promise<Json | undefined> {
  const reader = new Reader();
  token.lastIndex = 0;
  for (let at = 0, count = 0; ; count++) {
    if (count % 1000 === 0) await pause(signal);
    token.lastIndex = at;
    const [whole, sign, string, other] = token.exec(text) ?? [];
    if (whole === undefined) return undefined;
    at += whole.length;
    if (sign === undefined && string === undefined && other === undefined) return reader.outcome;
    const isTaken =
      sign !== undefined
        ? reader.sign(sign)
        : string !== undefined
          ? reader.string(JSON.parse(string) as string)
          : reader.value({ kind: 'other', text: other as string });
    if (!isTaken) return undefined;
  }
}

/** Builds a value from tokens; each method tells whether its token is allowed. */
class Reader {
  #whole: Json | undefined;
  #open: Extract<Json, { kind: 'object' | 'array' }>[] = [];
  #name = '';
  #expected: Expected = 'value';

  get outcome(): Json | undefined {
    return this.#expected === 'nothing' ? this.#whole : undefined;
  }

  value(value: Json): boolean {
    if (this.#expected !== 'value' && this.#expected !== 'value-or-end') return false;
    const parent = this.#open.at(-1);
    if (parent === undefined) this.#whole = value;
    else if (parent.kind === 'object') parent.members.push([this.#name, value]);
    else parent.values.push(value);
    if (value.kind === 'object' || value.kind === 'array') {
      this.#open.push(value);
      this.#expected = value.kind === 'object' ? 'name-or-end' : 'value-or-end';
    } else {
      this.#afterValue();
    }
    return true;
  }

  string(text: string): boolean {
    if (this.#expected !== 'name' && this.#expected !== 'name-or-end') return this.value({ kind: 'string', text });
    this.#name = text;
    this.#expected = 'colon';
    return true;
  }

  sign(sign: string): boolean {
    switch (sign) {
      case '{':
        return this.value({ kind: 'object', members: [] });
      case '[':
        return this.value({ kind: 'array', values: [] });
      case '}':
        return this.#close('object', 'name-or-end');
      case ']':
        return this.#close('array', 'value-or-end');
      case ':':
        if (this.#expected !== 'colon') return false;
        this.#expected = 'value';
        return true;
      default:
        if (this.#expected !== 'comma-or-end') return false;
        this.#expected = this.#open.at(-1)?.kind === 'object' ? 'name' : 'value';
        return true;
    }
  }

  #close(kind: 'object' | 'array', empty: Expected): boolean {
    if (this.#open.at(-1)?.kind !== kind || (this.#expected !== empty && this.#expected !== 'comma-or-end')) return false;
    this.#open.pop();
    this.#afterValue();
    return true;
  }

  #afterValue(): void {
    this.#expected = this.#open.length === 0 ? 'nothing' : 'comma-or-end';
  }
}
