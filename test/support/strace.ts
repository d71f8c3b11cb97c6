/** A system call that succeeded, as `strace -f -y -xx` wrote it. Strings are raw bytes. */
export interface SystemCall {
  name: string;
  /** Arguments: the bytes of a string, or the text of any other argument, for example `25</tmp/x>`. */
  args: (Buffer | string)[];
  result: number;
  /** Positions in the log at which the call began and ended. */
  from: number;
  to: number;
}

/**
 * Reads a log of strace. If another thread makes a call before a call ends, the unfinished call takes two lines.
 *
 * @throws Error if a string was cut, because `-s` was too small
 */
export function parseTrace(text: string): SystemCall[] {
  const begun = new Map<string, { line: string; from: number }>();
  return text.split('\n').flatMap((line, index) => {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const unfinished = /^(.*) <unfinished \.\.\.>$/.exec(rest)?.[1];
    if (unfinished !== undefined) begun.set(thread, { line: unfinished, from: index });
    if (unfinished !== undefined) return [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const start = resumed === undefined ? undefined : begun.get(thread);
    const whole = resumed === undefined ? rest : `${start?.line}${resumed}`;
    const [, name, args, result] = /^(\w+)\((.*)\) += (-?\d+)/.exec(whole) ?? [];
    if (name === undefined || args === undefined || Number(result) < 0) return [];
    return [{ name, args: argumentsOf(args), result: Number(result), from: start?.from ?? index, to: index }];
  });
}

function argumentsOf(text: string): (Buffer | string)[] {
  if (text.includes('"...')) throw new Error('strace cut a string');
  const buffers = [...text.matchAll(/iov_base="([^"]*)"/g)].map(([, hex = '']) => bytesOf(hex));
  if (buffers.length > 0) return [decoded(text.slice(0, text.indexOf(', '))), Buffer.concat(buffers)];
  return text.split(', ').map((one) => (one.startsWith('"') ? bytesOf(one.slice(1, -1)) : decoded(one)));
}

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

// Paths of descriptors are written in hexadecimal, too.
function decoded(text: string): string {
  return text.replace(/(?:\\x[0-9a-f]{2})+/g, (hex) => bytesOf(hex).toString('utf8'));
}
