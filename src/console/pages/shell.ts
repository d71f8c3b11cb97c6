import { eventGroups } from '../../events/catalogue.ts';
import { languageChoice, themeChoice } from '../../http/html/pages/account-menu.ts';
import { html } from '../../http/html/pages/html.ts';
import { icon } from '../../http/html/pages/icons.ts';
import type { Language } from '../../http/html/pages/locales/language.ts';
import type { Theme } from '../../http/html/pages/page-context.ts';
import { pageStart } from '../../http/html/pages/page-start.ts';
import { assetPaths, scriptTextsPath } from './page-assets.ts';

/** What the page depends on before anybody has signed in. */
export interface ShellContext {
  language: Language;
  theme: Theme;
}

/** The one page of the console: its frame. What it shows is asked for by its script, once somebody has signed in. */
export function shell(context: ShellContext): string {
  const { language } = context;
  return html`${pageStart(context)}
<title>svc console</title>
<link rel="icon" href="${assetPaths.icon}">
<link rel="stylesheet" href="${assetPaths.style}">
${language.tag !== 'en' && html`<link rel="modulepreload" href="${scriptTextsPath(language.tag)}">`}
<script type="module" src="${assetPaths.script}"></script>
</head>
<body>
<a class="skip" href="#main" hidden></a>
<header class="top">
<a class="brand" href="#overview"><img src="${assetPaths.icon}" alt=""><span>svc console</span></a>
<p id="server" class="hint"></p>
<div class="account">
<button type="button" class="quiet opener" popovertarget="menu"><span id="me">${icon('settings')}<span class="hidden">${language.text('settings')}</span></span>${icon('down')}</button>
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
<datalist id="event-groups">${eventGroups.map((group) => html`<option value="${group}"></option>`)}</datalist>
</body>
</html>
`.text;
}
