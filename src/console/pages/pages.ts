import pageScripts from 'svc:console-scripts';
import { readLanguage, readTheme } from '../../http/html/page-cookies.ts';
import { languageChoice, themeChoice } from '../../http/html/pages/account-menu.ts';
import { AssetFiles, assetHeaders, scriptTextsPath, styleSheet, webFile } from '../../http/html/pages/asset-files.ts';
import type { Language } from '../../http/html/pages/locales/language.ts';
import { pageStart, type Theme } from '../../http/html/pages/page.ts';
import { wantsGzip } from '../../http/reply/send-chunks.ts';
import { ServiceError } from '../../lib/errors.ts';
import { html, icon } from '../../lib/html.ts';
import { replyHeaders } from '../answer.ts';
import type { ConsoleContext } from '../environment.ts';

const files = new AssetFiles('/');

const assetPaths = {
  style: files.add(
    'console',
    'css',
    styleSheet(
      [],
      ['frame', 'panels', 'cards', 'forms', 'tables', 'columns', 'charts', 'expectations', 'screens'].map((name) => `console/${name}.css`),
    ),
  ),
  icon: files.add('icon', 'svg', webFile('console/icon.svg')),
  script: files.addScripts('page', pageScripts),
};

/** Renders the frame of the console's only page. Its script loads the content after the login. */
function shell(context: { language: Language; theme: Theme }): string {
  const { language } = context;
  return html`${pageStart(context)}
<title>svc console</title>
<link rel="icon" href="${assetPaths.icon}">
<link rel="stylesheet" href="${assetPaths.style}">
${language.tag !== 'en' && html`<link rel="modulepreload" href="${scriptTextsPath(assetPaths.script, language.tag)}">`}
<script type="module" src="${assetPaths.script}"></script>
</head>
<body>
<a class="skip" href="#main" hidden></a>
<header class="top">
<a class="brand" href="#overview"><img src="${assetPaths.icon}" alt=""><span>svc console</span></a>
<button type="button" class="quiet" id="section" popovertarget="sections"><span id="section-name"></span>${icon('down')}<span id="needs" class="needs" hidden></span></button>
<p id="server" class="hint"></p>
<div class="account">
<button type="button" class="quiet opener" popovertarget="menu"><span id="me">${icon('globe')}<span class="hidden">${language.text('settings')}</span></span>${icon('down')}</button>
<div id="menu" popover>
${themeChoice(context)}
${languageChoice(context)}
<hr>
<a class="button quiet" href="/api/openapi.json">${icon('code')}${language.text('api')}</a>
<button type="button" class="quiet" id="sign-out" hidden>${icon('out')}${language.text('signOut')}</button>
</div>
</div>
</header>
<div class="workspace">
<nav id="sections" hidden></nav>
<main id="main" tabindex="-1"><noscript><p class="notice error">JavaScript</p></noscript></main>
</div>
<div id="notices" role="status" aria-live="polite"></div>
</body>
</html>
`.text;
}

const shellHeaders = {
  'content-type': 'text/html; charset=utf-8',
  // The page may use nothing from other origins, no inline code, no frames, and no HTML from strings.
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

/** Answers `GET /` with the frame of the only page, which contains no data. Other paths get the frame with status 404. */
export function showShell(c: ConsoleContext, status = 200): Response {
  const body = shell({ language: readLanguage(c.env), theme: readTheme(c.env) });
  return new Response(body, { status, headers: { ...replyHeaders(c), ...shellHeaders } });
}

/** Answers `GET /assets/…` with a file that the page refers to. */
export function sendAsset(c: ConsoleContext): Response {
  const asset = files.all.get(c.env.path.slice(1));
  if (!asset) throw new ServiceError('not-found', 'There is nothing here.');
  const isCompressed = wantsGzip(c.env);
  const body = isCompressed ? asset.packed() : asset.body();
  const coding = isCompressed ? { 'content-encoding': 'gzip' } : undefined;
  return new Response(new Uint8Array(body), {
    headers: { ...replyHeaders(c), ...assetHeaders(asset), ...coding, 'content-length': String(body.length), vary: 'accept-encoding' },
  });
}
