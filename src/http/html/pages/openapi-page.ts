import { assetPaths } from './assets.ts';
import { html } from './html.ts';

/** The interactive API page: Swagger UI from the executable itself, no network. */
export function openapiPage(): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API &ndash; svc</title>
<link rel="icon" href="${assetPaths.icon}">
<link rel="stylesheet" href="${assetPaths.swaggerStyle}">
<link rel="stylesheet" href="${assetPaths.apiStyle}">
<script src="${assetPaths.swaggerScript}" defer></script>
<script src="${assetPaths.apiScript}" defer></script>
</head>
<body>
<div id="api"></div>
<noscript>This page needs scripts. The description itself: <a href="/__svc__/openapi.yaml">openapi.yaml</a>.</noscript>
</body>
</html>
`.text;
}
