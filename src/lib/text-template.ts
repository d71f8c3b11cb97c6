/** A template such as `{account.name} uploaded {data.path}`. */
export interface TextTemplate {
  /** Names of the variables, as they are written in the template. */
  readonly variables: readonly string[];
  /**
   * Inserts the values. An unknown variable becomes an empty text (docs/spec/delivery.md#templates).
   *
   * @param lookUp returns the value of a variable by its name in the template
   * @param encode escapes a value; `before` is all literal text of the template up to the value, without the values inserted so far
   */
  render(lookUp: (name: string) => string | undefined, encode?: (value: string, name: string, before: string) => string): string;
}

// `{{` and `}}` are literal braces. A brace that does not begin a variable is also literal, because a template may be JSON.
const token = /\{\{|\}\}|\{([\p{L}_][\p{L}\p{N}_.-]*)\}/gu;

/** Parses a template. Every text is a valid template. */
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
