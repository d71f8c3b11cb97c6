import { ServiceError } from '../errors.ts';

/** Returns the value of one cookie in a `Cookie` header (RFC 6265 §5.4). */
export function cookieValue(cookies: string | undefined, name: string): string | undefined {
  for (const pair of cookies?.split(';') ?? []) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** Decodes UTF-8 in a header or status line, which Node.js returns as Latin-1. @returns undefined if the bytes are not UTF-8 */
export function latin1ToUtf8(bytes: string): string | undefined {
  if (!/[\u0080-\u00ff]/.test(bytes)) return bytes;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Headers that apply to only one connection and are never forwarded (RFC 9110 §7.6.1). */
const hopByHopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Headers that an upload back-end must not set on the reply to an upload. They are reserved for the connection or for the service itself
 * (docs/spec/delivery.md#upload-back-end).
 */
export const refusedPassthroughHeaders: ReadonlySet<string> = new Set([
  ...hopByHopHeaders,
  'content-length',
  'content-encoding',
  'set-cookie',
  'date',
  'server',
  'server-path',
]);

/** Whether the name of a header suggests that its value is secret. */
export function isSecretHeader(name: string): boolean {
  return /auth|cookie|token|secret|password|key|signature/i.test(name);
}

/** Whether a text is a valid header name (a token, RFC 9110 §5.1). */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

/**
 * Whether a text is a safe header value. It must not contain CR, LF, NUL or other control characters except tabs. They could start another
 * header.
 */
export function isHeaderValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}

/**
 * Writes a `Content-Disposition` with a file name in ASCII. If the real name differs, it is added in UTF-8 (RFC 6266, RFC 8187). Control
 * characters, quotes and separators are replaced or encoded.
 */
export function contentDisposition(type: 'attachment' | 'inline', fileName: string): string {
  const fallback = fileName.replace(/[^\x20-\x7e]|["\\%/]/g, '_');
  if (fallback === fileName) return `${type}; filename="${fileName}"`;
  const encoded = encodeURIComponent(fileName.toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${type}; filename="${fallback}"; filename*=UTF-8''${encoded}`;
}

/**
 * Returns the file name in a `Content-Disposition` (RFC 6266). `filename*` has priority over `filename`.
 *
 * @throws ServiceError `bad-request` if `filename*` is not valid UTF-8
 */
export function dispositionFileName(text: string): string | undefined {
  const extended = /;\s*filename\*\s*=\s*UTF-8'[^']*'([^;\s]+)/i.exec(text)?.[1];
  if (extended !== undefined) return decoded(extended);
  const match = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(text);
  const name = match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2];
  return name === undefined ? undefined : latin1ToUtf8(name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new ServiceError('bad-request', 'The filename of Content-Disposition is not valid UTF-8.', { cause: error });
  }
}

/** Splits an `Authorization` header into its scheme, in lower case, and the rest. */
export function schemeAndValue(authorization: string): { scheme: string; value: string } {
  const space = authorization.indexOf(' ');
  return {
    scheme: (space < 0 ? authorization : authorization.slice(0, space)).toLowerCase(),
    value: space < 0 ? '' : authorization.slice(space + 1).trim(),
  };
}

/** Parses Basic credentials (RFC 7617) as UTF-8. Malformed credentials become an empty name and password, which are never accepted. */
export function parseBasic(value: string): { username: string; password: string } {
  const text = Buffer.from(value, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? { username: '', password: '' } : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
