import { redactedUrl } from '../lib/remote/redacted-url.ts';
import { mask, secretMember } from '../webhooks/payload/create-payload.ts';

/** Names of options whose values are secrets, or help to guess a secret. `tokens` does not match, because that option only sets limits. */
const secretName = /password|secret|token(?!s$)|hash|authorization|^ssh_keys$|^certificates$/i;

/** Options that are lists of headers. Masking keeps the names of the headers. */
const headerLists = new Set(['headers', 'api_partial_success_headers']);

/** Patterns that find secrets in one line of free text. In each, group 1 is the text before the secret, and group 2 is the secret. */
const secretPatterns = [
  /(["']?\b\w*(?:password|secret|token|authorization)\w*["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|[^\n&]+)/gi,
  // The next two patterns find the query of a URL, and the credentials before its host.
  /(:\/\/[^\s"',?]*\?)([^\s"',}]+)/g,
  /(:\/\/)([^\s"',/@]+(?=@))/g,
];

/** Masks the secrets in one line of free text. */
export function maskSecrets(line: string): string {
  return secretPatterns.reduce(
    (text, pattern) =>
      text.replace(pattern, (_, before: string, secret: string) => before + (isReference(secret) ? secret : '*'.repeat(secret.length))),
    line,
  );
}

/**
 * Whether a text consists only of a reference to a variable or file, and so is not a secret. References with a default are not included,
 * because the default may be a secret.
 */
export function isReference(text: string): boolean {
  return /^["']?\$\{(?:env:[^}:]*|file:[^}]*)\}?["']?$/.test(text);
}

/** Whether a text looks like a secret: a password hash, a private key, a long random text, or a token that consists of such texts. */
export function resemblesSecret(text: string): boolean {
  if (/\$(?:scrypt|argon2\w*|pbkdf2[\w-]*|2[abxy]?|[1567y]|g?y|apr1|sha1|md5)\$|\$scrypt|PRIVATE KEY/.test(text)) return true;
  if (/\bpbkdf2_sha\d+\$|\{S?(?:SHA|MD5)\d*\}|\{CRYPT\}/i.test(text)) return true;
  return /(?<![\w+/-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d)[\w+-][\w+/-]{39,}/.test(text);
}

/** Whether a path leads to a list of headers, or to an item of such a list. */
export function isHeaderList(path: readonly string[]): boolean {
  return headerLists.has(path[2] ?? '');
}

/** Masks a text of the configuration. @param path option names, beginning with the section */
export function maskedText(text: string, path: readonly string[]): string {
  if (text === '') return text;
  if (isSecret(path) || resemblesSecret(text)) return mask;
  if (path.at(-1) === 'url' || /^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return redactedUrl(text).replace(/#.*$/s, '#…');
  return maskedUrls(path[2] === 'custom_body' ? text.split('\n').map(maskSecrets).join('\n') : text);
}

/** Whether the name of an option or of one of its parents marks it as a secret. @param path option names, beginning with the section */
export function isSecret([section, entry, ...options]: readonly string[]): boolean {
  if (section === 'server') return entry !== 'password_policy' && [entry ?? '', ...options].some((name) => secretName.test(name));
  const [option = ''] = options;
  if (option === 'extra_data') return options.some((name) => secretMember.test(name));
  return options.some((name) => secretName.test(name) && !/_path$|_password_change$/.test(name));
}

/** Redacts every URL in a text, as `redactedUrl` does for one URL. Also redacts the fragments after `#`. */
function maskedUrls(text: string): string {
  return text.replace(/(:\/\/)[^\s/?#"'<>]*@/g, '$1').replace(/(:\/\/[^\s?#"'<>]*)([?#])[^\s"'<>]*/g, '$1$2…');
}
