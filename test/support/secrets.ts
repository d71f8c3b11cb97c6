/**
 * The password of every account that tests have no other one for. Not a word that stands anywhere else, so that wherever it turns up the
 * service has shown it (test/support/secret-watch.ts).
 */
export const testPassword = 'marker-Wq7Zt4Kp';

/** What `Client` sends by default. */
export const testUser = `alice:${testPassword}`;

/** The `Authorization` value of `testUser`. */
export const testBasic = basicOf(testUser);

/** The value of `Authorization` for `name:password`. */
export function basicOf(user: string): string {
  return `Basic ${Buffer.from(user).toString('base64')}`;
}

/** Shorter texts stand in files by chance. */
const shortestSecret = 8;

/** A long run makes sessions and passwords by the thousand; what is looked for is bounded. */
const maxSecrets = 200;

const known = new Map<string, string>([[testPassword, 'the password of the tests']]);

/** Has every later look find a secret. @param what names it in the failure */
export function learnSecret(secret: string | undefined, what: string): void {
  // What begins with a dollar is a hash, or a reference to a variable or a file.
  if (secret === undefined || secret.startsWith('$') || secret.length < shortestSecret || known.has(secret)) return;
  known.set(secret, what);
  if (known.size > maxSecrets) known.delete([...known.keys()][1] as string);
}

/** @returns forgets what was learned since this call: one test's secrets are another test's words */
export function rememberSecrets(): () => void {
  const before = new Set(known.keys());
  return () => {
    for (const secret of known.keys()) if (!before.has(secret)) known.delete(secret);
  };
}

/** Learns what stands in an `Authorization` header. */
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
 * Learns the secrets of a configuration, of a form or of a JSON body, as text: the values of members with the names that secrets have,
 * and what stands in URLs. Hashes of passwords and references to variables and files are none.
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

/** A text to look for, and how it stands for the secret. */
interface Form {
  coding: string;
  text: string;
}

const formsBySecret = new Map<string, Form[]>();

/** Each way in which a secret may stand in a text, base64 also as a part of something longer such as `user:password`. */
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
    // Only those characters that the secret alone decides.
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
 * Looks for all known secrets.
 *
 * @param content as bytes, or as text
 * @returns what was found, named without showing it
 */
export function findSecrets(content: string | Buffer, except: ReadonlySet<string> = new Set()): string[] {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return [...known].flatMap(([secret, what]) => {
    if (except.has(secret)) return [];
    const form = formsOf(secret).find(({ text }) => bytes.includes(text, 0, 'latin1'));
    return form ? [`${what} (${secret.slice(0, 4)}…), ${form.coding}`] : [];
  });
}
