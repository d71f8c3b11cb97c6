import { longestCredentialCharacters, userVariable } from './user-names.ts';

/** A name is put in for `${USER}`, with `\` before what would mean something (permissions.ts). */
const longestName = '\\x'.repeat(longestCredentialCharacters);

/** What stands for itself in a regular expression, whatever is in it; a counted repetition; anything else, one by one. */
const token =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\(\?[A-Za-z-]*\)|\{(\d+)(,(\d*))?\}|[\s\S]/gu;

/** A class such as `\p{L}` is one step, but takes as long to make as so many others. */
const unicodeClassCost = 20;

/**
 * How many steps an expression (expression.ts) may take for each character of a text, about; 0 for globs of characters and `*` alone, which
 * are looked for and cost next to nothing. Making a regular expression takes as long as it has steps, so that this is asked before.
 */
export function expressionCost(source: string): number {
  const bare = source
    .replaceAll(userVariable, longestName)
    .trim()
    .replace(/^(?:!\s*)+/, '');
  if (/^[em]\//.test(bare)) return regularExpressionCost(bare);
  return /[?[]/.test(bare) ? bare.length : 0;
}

function regularExpressionCost(text: string): number {
  /** Sizes of what is open: the expression, and groups in it. */
  const open = [0];
  /** Size of what a repetition would repeat; it is not in `open` yet. */
  let last = 0;
  const add = (size: number) => {
    open[open.length - 1] = (open.at(-1) ?? 0) + last;
    last = size;
  };
  for (const [part, least, range, most] of text.matchAll(token)) {
    if (least !== undefined) last = (last + 1) * Math.max(Number(least) + (range === undefined ? 0 : 1), Number(most || 0), 1);
    else if (part === '(') {
      add(0);
      open.push(0);
    } else if (part === ')' && open.length > 1) {
      add(0);
      last = (open.pop() ?? 0) + 2;
    } else if (part === '*' || part === '+' || part === '?') last++;
    // Flags are nothing: what repeats them repeats what is before.
    else if (!part.startsWith('(?')) add(part.startsWith('\\Q') ? part.length : /\\p/i.test(part) ? unicodeClassCost : 1);
  }
  return open.reduce((sum, size) => sum + size, last);
}
