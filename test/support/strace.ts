/** A successful system call in the output of `strace -f -y -xx`. Strings are raw bytes. */
export interface SystemCall {
  name: string;
  /** Bytes of strings, and texts of other arguments, for example `25</tmp/x>`. */
  args: (Buffer | string)[];
  result: number;
  /** Positions of the call's begin and end in the log. */
  from: number;
  to: number;
}

/** Reads a log of strace, in which a call may take two lines. @throws Error if `-s` was too small for a string */
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
