import { assetPaths } from './assets.ts';
import { type Html, html } from './html.ts';

/** The frame of every page. */
export function layout(model: { title: string; body: Html; refreshTo?: string | undefined }): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${model.title}</title>
${model.refreshTo !== undefined && html`<meta http-equiv="refresh" content="0; url=${model.refreshTo}">`}
<link rel="stylesheet" href="${assetPaths.style}">
</head>
<body>
${model.body}
</body>
</html>
`;
  return page.text;
}
