import { type Html, html, icon } from '../../../lib/html.ts';
import type { TextValues } from '../../../lib/translated-text.ts';
import type { VirtualPath } from '../../../lib/virtual-path.ts';
import type { ReplyHeaders } from '../../reply/reply.ts';
import type { Language, PageTextName } from './locales/language.ts';

/** The colour themes of the pages. `system` means the theme of the reader's operating system. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** Data about the reader and the service that every page needs. */
export interface PageContext {
  language: Language;
  theme: Theme;
  appearance: Appearance;
  /** Path and query of the page itself. */
  url: string;
  /** Returns the URL path under which the reader finds a file or folder. */
  urlOf: (path: VirtualPath, isFolder: boolean) => string;
  /** The file or folder that is the root for a visitor of a link, and its name; undefined for readers who see the home folder. */
  linked: { root: VirtualPath; name: string } | undefined;
  showApiLink: boolean;
  /** The authenticated account; undefined before the login. */
  account: PageAccount | undefined;
}

/** The appearance of a service. */
export interface Appearance {
  title: string;
  footer: string;
  footerLinks: readonly { label: string; url: string }[];
  /** URL of the style sheet with the configured colours. */
  stylePath: string | undefined;
  logoPath: string | undefined;
}

/** The signed-in account, and the entries that the menu has for it. */
export interface PageAccount {
  name: string;
  isAnonymous: boolean;
  mayChangePassword: boolean;
  hasTrash: boolean;
  /** Whether inspections judge some of the account's uploads. */
  isInspected: boolean;
  /** Whether the total size of the account's files is limited. */
  hasQuota: boolean;
  mayShare: boolean;
  mayMakeTokens: boolean;
  maySeeRecent: boolean;
  /** Whether the account may see which of its files are due. */
  maySeeDue: boolean;
  hasSession: boolean;
}

export const views = ['list', 'grid'] as const;
export type View = (typeof views)[number];

/** Renders the switch with the links to both views. */
export function viewSwitch({ language }: PageContext, shown: View) {
  const link = (view: View, label: string) =>
    html`<a class="button quiet to-${view}" href="?view=${view}" title="${label}"${view === shown && html` aria-current="true"`}>${icon(view)}<span class="hidden">${label}</span></a>`;
  return html`<span class="views">${link('list', language.text('asList'))}${link('grid', language.text('asGrid'))}</span>`;
}

/** Renders the beginning of every page, up to the title in its head. */
export function pageStart({ language, theme }: { language: Language; theme: Theme }): Html {
  return html`<!doctype html>
<html lang="${language.tag}" dir="ltr"${theme !== 'system' && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">`;
}

/** Renders a time in UTC, which the page's script replaces with local time. @param isExact whether to show seconds and the time zone */
export function timeHtml({ language }: Pick<PageContext, 'language'>, timeMs: number, isExact = false): Html {
  return html`<span data-time="${Math.floor(timeMs / 1000)}"${isExact && html` data-exact`}>${language.date(timeMs)} UTC</span>`;
}

/** Renders a text with a time in place of `{date}`. The page's script replaces this time with local time. */
export function phraseWithTime(context: Pick<PageContext, 'language'>, name: PageTextName, timeMs: number, values?: TextValues): Html {
  const [before = '', after = ''] = context.language.text(name, { ...values, date: '{date}' }).split('{date}');
  return html`${before}${timeHtml(context, timeMs)}${after}`;
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  // Frames can show only previews of PDF files, because all pages of the service forbid being framed.
  "frame-src 'self'",
  // The script requests a blob that it created itself, in order to parse an SVG drawing.
  "connect-src 'self' blob:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/**
 * Returns the headers of every page. They forbid content of other origins, inline code, caching, scripts that turn text into HTML, and
 * showing the page in a frame.
 */
export function pageHeaders({ linked }: Pick<PageContext, 'linked'>): ReplyHeaders {
  // The URL of a link's page is a secret, so no request may contain it as referrer.
  if (linked) return { ...pageHeaders({ linked: undefined }), 'referrer-policy': 'no-referrer' };
  return headersWith(`${policy}; require-trusted-types-for 'script'; trusted-types 'none'`);
}

/** Returns the headers of the API page. They let Swagger UI turn text into HTML. Swagger UI sanitizes the HTML itself. */
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
