/** Maximum number of lines to compare. If a text has more lines, all lines are shown as removed or added. */
const maxLines = 2000;

/** Lists the lines that differ: `-` for lines of the first text, `+` for lines of the second. */
export function lineDiff(before: string, after: string): string[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return middleDiff(a.slice(start, a.length - end), b.slice(start, b.length - end));
}

function middleDiff(a: readonly string[], b: readonly string[]): string[] {
  if (a.length > maxLines || b.length > maxLines) return [...a.map((line) => `- ${line}`), ...b.map((line) => `+ ${line}`)];
  // common[i][j] is the length of the longest common subsequence of `a` from line i and `b` from line j.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i] as Uint16Array;
    for (let j = b.length - 1; j >= 0; j--) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: string[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) lines.push(`- ${a[i++]}`);
    else lines.push(`+ ${b[j++]}`);
  }
  return lines;
}
