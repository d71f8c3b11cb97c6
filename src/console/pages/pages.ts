import { languageOf, themeOf } from '../../http/html/choices.ts';
import { assetHeaders } from '../../http/html/pages/asset-files.ts';
import { wantsGzip } from '../../http/reply/compression.ts';
import { ServiceError } from '../../lib/errors.ts';
import { headersOf } from '../answer.ts';
import type { ConsoleContext } from '../environment.ts';
import { assets } from './page-assets.ts';
import { shell } from './shell.ts';

const shellHeaders = {
  'content-type': 'text/html; charset=utf-8',
  // Nothing from elsewhere, no inline code, no frame; and no script may make HTML of a text.
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'accept-language, cookie',
};

/** `GET /`: the one page, the same for everybody; what it shows it asks the API for. */
export function showShell(c: ConsoleContext): Response {
  const { env: exchange } = c;
  const body = shell({ language: languageOf(exchange), theme: themeOf(exchange) });
  return new Response(body, { headers: { ...headersOf(c), ...shellHeaders } });
}

/** `GET /assets/…`: a file that the page refers to. */
export function sendAsset(c: ConsoleContext): Response {
  const asset = assets.get(c.env.path.slice(1));
  if (!asset) throw new ServiceError('not-found', 'There is nothing here.');
  const isCompressed = wantsGzip(c.env);
  const body = isCompressed ? asset.packed() : asset.body();
  const coding = isCompressed ? { 'content-encoding': 'gzip' } : undefined;
  return new Response(new Uint8Array(body), {
    headers: { ...headersOf(c), ...assetHeaders(asset), ...coding, 'content-length': String(body.length), vary: 'accept-encoding' },
  });
}
