import { createHmac } from 'node:crypto';
import { readStrings } from '../public-keys.ts';

/** The keys that a server is known to have. */
export interface KnownKeys {
  /** Types of its keys, such as `ssh-ed25519`. */
  types: readonly string[];
  /** Returns whether a key is one of the server's known keys. */
  has(key: Buffer): boolean;
}

/**
 * Reads the keys of a server from a file in the format of OpenSSH's `known_hosts` (sshd(8)). It understands plain and hashed names,
 * patterns, `[host]:port` for ports other than 22, and `@revoked`. Certificates (`@cert-authority`) are not supported.
 */
export function knownKeys(text: string, host: string, port: number): KnownKeys {
  const name = (port === 22 ? host : `[${host}]:${port}`).toLowerCase();
  const [known, revoked]: [string[], Set<string>] = [[], new Set()];
  for (const line of text.split('\n')) {
    const fields = line.trim().split(/\s+/);
    const marker = fields[0]?.startsWith('@') ? fields.shift() : undefined;
    const [patterns = '', , key = ''] = fields;
    if (patterns.startsWith('#') || key === '' || !matches(patterns, name)) continue;
    if (marker === '@revoked') revoked.add(key);
    else if (marker === undefined) known.push(key);
  }
  const keys = new Set(known.filter((key) => !revoked.has(key)));
  return { types: [...new Set([...keys].map(keyType))], has: (key) => keys.has(key.toString('base64')) };
}

function matches(patterns: string, name: string): boolean {
  if (patterns.startsWith('|1|')) {
    const [salt = '', digest = ''] = patterns.slice('|1|'.length).split('|');
    return createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest('base64') === digest;
  }
  const all = patterns.toLowerCase().split(',');
  return (
    all.some((pattern) => isMatch(pattern, name)) && !all.some((pattern) => pattern.startsWith('!') && isMatch(pattern.slice(1), name))
  );
}

function isMatch(pattern: string, name: string): boolean {
  if (!/[*?]/.test(pattern)) return pattern === name;
  // This loop takes linear time; a regular expression with many `*` would not.
  let [at, in_, star, mark] = [0, 0, -1, 0];
  while (in_ < name.length) {
    if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[in_])) {
      at++;
      in_++;
    } else if (pattern[at] === '*') {
      star = at++;
      mark = in_;
    } else if (star >= 0) {
      at = star + 1;
      in_ = ++mark;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}

function keyType(key: string): string {
  try {
    return readStrings(Buffer.from(key, 'base64'), 1)[0]?.toString('latin1') ?? '';
  } catch {
    return '';
  }
}
