import type { ReplyHeaders } from '../../reply/reply.ts';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  // The preview of a PDF: bytes that the script fetched, under the fixed type application/pdf.
  'frame-src blob:',
  // A drawing is parsed by a request for what the script holds already.
  "connect-src 'self' blob:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** What pages besides the API page also hold to: no script may make HTML of a text. */
const trustedTypes = "; require-trusted-types-for 'script'; trusted-types 'none'";

/** Headers of every page: nothing from elsewhere, no inline code, no frame, no cache. */
export function pageHeaders(): ReplyHeaders {
  return headersWith(policy + trustedTypes);
}

/** Headers of the API page: Swagger UI makes HTML of texts, which it cleans itself. */
export function apiPageHeaders(): ReplyHeaders {
  return headersWith(policy);
}

function headersWith(contentSecurityPolicy: string): ReplyHeaders {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    vary: 'accept, content-type, accept-language, cookie',
  };
}
