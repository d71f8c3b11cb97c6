/** Width of help off a terminal, and the widest that is easy to read, in characters. */
const defaultWidth = 80;
const maxWidth = 100;

/** The width that help has on a stream. */
export function helpWidth(stream: NodeJS.WriteStream): number {
  return Math.min(stream.columns ?? defaultWidth, maxWidth);
}

/** Breaks lines of running text that are wider than `width`; indented lines (examples, tables) stay as they are. */
export function foldHelp(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => (line.length <= width || line.startsWith(' ') ? [line] : foldLine(line, width)))
    .join('\n');
}

function foldLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let rest = line;
  while (rest.length > width) {
    const at = rest.lastIndexOf(' ', width);
    if (at <= 0) break;
    lines.push(rest.slice(0, at));
    rest = rest.slice(at + 1);
  }
  return [...lines, rest];
}
