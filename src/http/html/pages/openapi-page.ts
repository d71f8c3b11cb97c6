import { assetPaths } from './assets.ts';
import { html } from './html.ts';
import { layout } from './layout.ts';
import type { PageContext } from './page-context.ts';

/** The interactive API page: Swagger UI from the executable itself, no network, in the frame of every page. */
export function openapiPage(context: PageContext): string {
  const head = html`<link rel="stylesheet" href="${assetPaths.swaggerStyle}">
<link rel="stylesheet" href="${assetPaths.frameStyle}">
<link rel="stylesheet" href="${assetPaths.apiStyle}">
<script src="${assetPaths.swaggerScript}" defer></script>
<script src="${assetPaths.apiScript}" defer></script>`;
  const body = html`<div id="api" lang="en"></div>
<noscript><p class="unscripted" lang="en">This page needs scripts. The description itself: <a href="/__svc__/openapi.yaml">openapi.yaml</a>.</p></noscript>`;
  return layout(context, { title: 'API', body, head });
}
