/** A template such as `{account.name} uploaded {data.path}`. */
export interface TextTemplate {
  /** Names of the variables, as written. */
  readonly variables: readonly string[];
  /**
   * Inserts the values. An unknown variable becomes an empty text (docs/spec/delivery.md#templates).
   *
   * @param lookUp gives a variable's value by the name as written
   * @param encode escapes a value; `before` is the literal text of the template in front of it
   */
  render(lookUp: (name: string) => string | undefined, encode?: (value: string, name: string, before: string) => string): string;
}

// `{{` and `}}` are literal braces, and so is a brace that opens no variable: a template may be JSON.
const token = /\{\{|\}\}|\{([\p{L}_][\p{L}\p{N}_.-]*)\}/gu;

/** Parses a template; every text is one. */
export function parseTemplate(text: string): TextTemplate {
  const literals: string[] = [];
  const variables: string[] = [];
  let literal = '';
  let end = 0;
  for (const match of text.matchAll(token)) {
    literal += text.slice(end, match.index);
    end = match.index + match[0].length;
    if (match[1] === undefined) {
      literal += match[0] === '{{' ? '{' : '}';
      continue;
    }
    literals.push(literal);
    variables.push(match[1]);
    literal = '';
  }
  literals.push(literal + text.slice(end));
  return {
    variables,
    render(lookUp, encode = (value) => value) {
      let rendered = literals[0] as string;
      let before = rendered;
      for (const [index, name] of variables.entries()) {
        const next = literals[index + 1] as string;
        rendered += encode(lookUp(name) ?? '', name, before) + next;
        before += next;
      }
      return rendered;
    },
  };
}
