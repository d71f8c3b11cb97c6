/**
 * The default password of accounts in tests. It occurs nowhere else. So if it is found in an output, the service has shown it
 * (test/support/secret-watch.ts).
 */
export const testPassword = 'marker-Wq7Zt4Kp';

/** The credentials that `Client` sends by default. */
export const testUser = `alice:${testPassword}`;

/** The `Authorization` value of `testUser`. */
export const testBasic = basicOf(testUser);

/** The value of `Authorization` for `name:password`. */
export function basicOf(user: string): string {
  return `Basic ${Buffer.from(user).toString('base64')}`;
}

/** Minimum length, in characters, of a secret that is searched for. Shorter texts occur in files by chance. */
const shortestSecret = 8;

/** Maximum number of secrets that are searched for, because a long run creates thousands of sessions and passwords. */
const maxSecrets = 200;

const known = new Map<string, string>([[testPassword, 'the password of the tests']]);

/** Adds a secret that later searches look for. @param what names it in the failure message */
export function learnSecret(secret: string | undefined, what: string): void {
  // A text that begins with a dollar sign is a hash, or a reference to a variable or a file.
  if (secret === undefined || secret.startsWith('$') || secret.length < shortestSecret || known.has(secret)) return;
  known.set(secret, what);
  if (known.size > maxSecrets) known.delete([...known.keys()][1] as string);
}

/** @returns a function that forgets the secrets learned since this call, because another test may use the same words without secrecy */
export function rememberSecrets(): () => void {
  const before = new Set(known.keys());
  return () => {
    for (const secret of known.keys()) if (!before.has(secret)) known.delete(secret);
  };
}

/** Learns the secrets in an `Authorization` header. */
export function learnAuthorization(value: string): void {
  const [, scheme = '', content = ''] = /^(\w+) +(\S+)/.exec(value) ?? [];
  if (/^basic$/i.test(scheme)) {
    const text = Buffer.from(content, 'base64').toString('utf8');
    learnSecret(text.slice(text.indexOf(':') + 1), 'a password that a client sent');
  } else if (/^(session|bearer)$/i.test(scheme)) learnSecret(content, `what a client sent as ${scheme}`);
}

const secretMember =
  /["']?\b(password|passwordd|current_password|new_password|signing_secret|secret|session|api_key)["']?\s*[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"'{}[\],&]+))/g;

/**
 * Learns the secrets in the text of a configuration, a form or a JSON body: values of members with typical names (such as `password`), and
 * credentials in URLs. Password hashes, and references to variables and files, are not secrets.
 */
export function learnFromText(text: string, where: string): void {
  for (const [, name, quoted, apostrophes, plain] of text.matchAll(secretMember)) {
    const value = quoted === undefined ? (apostrophes ?? plain ?? '') : unescaped(quoted);
    for (const secret of name === 'signing_secret' ? value.split(/, */) : [value]) learnSecret(secret, `${name} of ${where}`);
  }
  for (const [, value = ''] of text.matchAll(/\b(?:X-[\w-]*(?:Key|Token)|Authorization): *(?:Bearer |Basic )?([^\s"',\]}]+)/gi))
    learnSecret(value, `a header of ${where}`);
  for (const [, password = ''] of text.matchAll(/\b[a-z]+:\/\/[^/\s"'@:]*:([^/\s"'@]+)@/g))
    learnSecret(decodedUri(password), `a URL of ${where}`);
  for (const [, value = ''] of text.matchAll(/[?&](?:token|key|secret|password)=([^\s"'&,]+)/g))
    learnSecret(value, `a URL's query of ${where}`);
  for (const [, line = ''] of text.matchAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----\s+([A-Za-z0-9+/]{32,})/g))
    learnSecret(line, `a private key of ${where}`);
}

function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text;
  }
}

function decodedUri(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A text to search for, and the coding of the secret in it. */
interface Form {
  coding: string;
  text: string;
}

const formsBySecret = new Map<string, Form[]>();

/**
 * Returns all forms in which a secret may appear in a text. Its base64 form may be a part of a longer one, such as that of `user:password`.
 */
export function formsOf(secret: string): Form[] {
  const cached = formsBySecret.get(secret);
  if (cached) return cached;
  const bytes = Buffer.from(secret);
  const percent = encodeURIComponent(secret);
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
  const forms: Form[] = [
    { coding: 'as it is', text: bytes.toString('latin1') },
    { coding: 'in JSON', text: Buffer.from(JSON.stringify(secret).slice(1, -1)).toString('latin1') },
    { coding: 'percent-encoded', text: percent },
    { coding: 'percent-encoded', text: percent.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()) },
    { coding: 'as a form sends it', text: new URLSearchParams({ '': secret }).toString().slice(1) },
    { coding: 'in HTML', text: Buffer.from(html).toString('latin1') },
    { coding: 'in hex', text: bytes.toString('hex') },
    { coding: 'in hex', text: bytes.toString('hex').toUpperCase() },
  ];
  for (const offset of [0, 1, 2]) {
    // Use only those base64 characters that do not depend on neighbouring bytes.
    const whole = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const end = Math.floor(((offset + bytes.length) * 8) / 6);
    const text = whole.slice(Math.ceil((offset * 8) / 6), end);
    forms.push({ coding: 'in base64', text }, { coding: 'in base64url', text: text.replaceAll('+', '-').replaceAll('/', '_') });
  }
  const distinct = forms.filter(({ text }, index) => forms.findIndex((other) => other.text === text) === index);
  formsBySecret.set(secret, distinct);
  return distinct;
}

/**
 * Searches for all known secrets.
 *
 * @param content bytes or text
 * @returns the secrets that were found: the name, the first four characters, and the coding of each
 */
export function findSecrets(content: string | Buffer, except: ReadonlySet<string> = new Set()): string[] {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return [...known].flatMap(([secret, what]) => {
    if (except.has(secret)) return [];
    const form = formsOf(secret).find(({ text }) => bytes.includes(text, 0, 'latin1'));
    return form ? [`${what} (${secret.slice(0, 4)}…), ${form.coding}`] : [];
  });
}
