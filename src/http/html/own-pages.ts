import { ServiceError } from '../../lib/errors.ts';
import { codingHeaders, wantsGzip } from '../reply/compression.ts';
import type { Handled } from '../reply/reply.ts';
import type { Exchange } from '../request/exchange.ts';
import { nextOfQuery } from '../rest/login.ts';
import { takeLoginMessage } from './flash.ts';
import { loginPageReply } from './page-replies.ts';
import { assets } from './pages/assets.ts';
import { openapiPage } from './pages/openapi-page.ts';
import { apiPageHeaders } from './pages/page-headers.ts';

/** GET of the login page. */
export function showLogin(exchange: Exchange): Handled {
  const { message, clearCookie } = takeLoginMessage(exchange);
  const reply = loginPageReply(exchange, { status: 200, message, next: nextOfQuery(exchange) });
  return clearCookie === undefined ? reply : { ...reply, headers: { ...reply.headers, 'set-cookie': clearCookie } };
}

/** GET of the page that shows the description of the REST API. */
export function showOpenapiPage(): Handled {
  return { status: 200, headers: apiPageHeaders(), body: openapiPage() };
}

/** GET of a file that pages refer to. Its name changes with the content, so browsers may keep it for ever. */
export function sendAsset(exchange: Exchange): Handled {
  const { target } = exchange;
  const asset = target.kind === 'service' ? assets.get(target.name) : undefined;
  if (!asset) throw new ServiceError('not-found', 'Path not found.');
  const isCompressed = wantsGzip(exchange);
  const headers = {
    'content-type': asset.contentType,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    ...codingHeaders(isCompressed),
  };
  return { status: 200, headers, body: isCompressed ? asset.packed() : asset.body() };
}
