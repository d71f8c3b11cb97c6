import { ServiceError } from '../../lib/errors.ts';
import { html } from '../../lib/html.ts';
import { respond } from '../reply/respond.ts';
import { codingHeaders, wantsGzip } from '../reply/send-chunks.ts';
import type { Exchange } from '../request/exchange.ts';
import { nextOfQuery } from '../rest/login.ts';
import { takeLoginMessage } from './page-cookies.ts';
import { loginPageReply, pageContextOf, pageReply } from './page-replies.ts';
import { assetHeaders } from './pages/asset-files.ts';
import { assetPaths, assets } from './pages/assets.ts';
import { apiPageHeaders } from './pages/page.ts';

/**
 * Answers GET of the interactive API page. Swagger UI is part of the executable, so the page needs no network. It has the frame of all
 * pages.
 */
export function showOpenapiPage(exchange: Exchange): Promise<Response> {
  const head = html`<link rel="stylesheet" href="${assetPaths.swaggerStyle}">
<link rel="stylesheet" href="${assetPaths.frameStyle}">
<link rel="stylesheet" href="${assetPaths.apiStyle}">
<script src="${assetPaths.swaggerScript}" defer></script>
<script src="${assetPaths.apiScript}" defer></script>`;
  const body = html`<div id="api" lang="en"></div>
<noscript><p class="unscripted" lang="en">This page needs scripts. The description itself: <a href="/__svc__/openapi.yaml">openapi.yaml</a>.</p></noscript>`;
  return respond(exchange, pageReply(pageContextOf(exchange), 200, { title: 'API', body, head }, apiPageHeaders()));
}

/** Answers GET of the login page. */
export function showLogin(exchange: Exchange): Promise<Response> {
  const { message, clearLine } = takeLoginMessage(exchange);
  return respond(exchange, loginPageReply(exchange, 200, { message, next: nextOfQuery(exchange) }, { 'set-cookie': clearLine }));
}

/** Answers GET of a file that pages refer to. */
export function sendAsset(exchange: Exchange): Promise<Response> {
  const { target } = exchange;
  const asset = target.kind === 'service' ? assets.get(target.name) : undefined;
  if (!asset) throw new ServiceError('not-found', 'Path not found.');
  const isCompressed = wantsGzip(exchange);
  const headers = { ...assetHeaders(asset), ...codingHeaders(isCompressed) };
  return respond(exchange, { status: 200, headers, body: isCompressed ? asset.packed() : asset.body() });
}
