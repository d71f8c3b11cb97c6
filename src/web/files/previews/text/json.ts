import { pause } from '../pause.ts';

/** JSON as it was written. It keeps large numbers, the order of members and repeated names, which `JSON.parse` would change. */
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
 * Parses JSON of any depth (RFC 8259), and lets the page react meanwhile.
 * @returns undefined if the text is not JSON
 * @throws the reason of `signal` if it is aborted
 */
export async function readJson(text: string, signal: AbortSignal): Promise<Json | undefined> {
  let whole: Json | undefined;
  const open: Extract<Json, { kind: 'object' | 'array' }>[] = [];
  let name = '';
  let expected: Expected = 'value';
  const expects = (...tokens: Expected[]) => tokens.includes(expected);
  const afterValue = () => {
    expected = open.length === 0 ? 'nothing' : 'comma-or-end';
    return true;
  };

  // Each of these functions consumes a token and returns whether the token is allowed here.
  const takeValue = (value: Json): boolean => {
    if (!expects('value', 'value-or-end')) return false;
    const parent = open.at(-1);
    if (parent === undefined) whole = value;
    else if (parent.kind === 'object') parent.members.push([name, value]);
    else parent.values.push(value);
    if (value.kind !== 'object' && value.kind !== 'array') return afterValue();
    open.push(value);
    expected = value.kind === 'object' ? 'name-or-end' : 'value-or-end';
    return true;
  };
  const takeString = (string: string): boolean => {
    if (!expects('name', 'name-or-end')) return takeValue({ kind: 'string', text: string });
    name = string;
    expected = 'colon';
    return true;
  };
  const takeEnd = (kind: 'object' | 'array', empty: Expected): boolean => {
    if (open.at(-1)?.kind !== kind || !expects(empty, 'comma-or-end')) return false;
    open.pop();
    return afterValue();
  };
  const takeSign = (sign: string): boolean => {
    if (sign === '{') return takeValue({ kind: 'object', members: [] });
    if (sign === '[') return takeValue({ kind: 'array', values: [] });
    if (sign === '}') return takeEnd('object', 'name-or-end');
    if (sign === ']') return takeEnd('array', 'value-or-end');
    if (!expects(sign === ':' ? 'colon' : 'comma-or-end')) return false;
    expected = sign === ',' && open.at(-1)?.kind === 'object' ? 'name' : 'value';
    return true;
  };

  for (let at = 0, count = 0; ; count++) {
    if (count % 1000 === 0) await pause(signal);
    token.lastIndex = at;
    const [taken, sign, string, other] = token.exec(text) ?? [];
    if (taken === undefined) return undefined;
    at += taken.length;
    let isAllowed: boolean;
    if (sign !== undefined) isAllowed = takeSign(sign);
    else if (string !== undefined) isAllowed = takeString(JSON.parse(string) as string);
    else if (other !== undefined) isAllowed = takeValue({ kind: 'other', text: other });
    else return expects('nothing') ? whole : undefined;
    if (!isAllowed) return undefined;
  }
}
