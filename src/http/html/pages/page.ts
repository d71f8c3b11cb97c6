import type { VirtualPath } from '../../../lib/virtual-path.ts';
import type { ReplyHeaders } from '../../reply/reply.ts';
import { type Html, html, icon } from './html.ts';
import type { Language } from './locales/language.ts';

/** Colours of the pages: those of the system, or the reader's choice. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** Facts about the reader and the service that every page needs. */
export interface PageContext {
  language: Language;
  theme: Theme;
  appearance: Appearance;
  /** Path and query of the page itself. */
  url: string;
  /** URL path of a file or folder for the reader. */
  urlOf: (path: VirtualPath, isFolder: boolean) => string;
  /** The folder that is the root for the reader, and its name; undefined for the home folder. */
  linked: { root: VirtualPath; name: string } | undefined;
  /** Whether the menu links to the API description. */
  showApiLink: boolean;
  /** The client, once it is authenticated. */
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

/** Who is signed in, and what the menu offers. */
export interface PageAccount {
  name: string;
  isAnonymous: boolean;
  mayChangePassword: boolean;
  /** Whether what it deletes goes to a trash. */
  hasTrash: boolean;
  /** Whether inspections judge some of what it uploads. */
  isInspected: boolean;
  /** Whether there is a limit for the size of its files together. */
  hasQuota: boolean;
  /** Whether it may make links to some of its files. */
  mayShare: boolean;
  mayMakeTokens: boolean;
  maySeeRecent: boolean;
  /** Whether it may see which of its files are due. */
  maySeeDue: boolean;
  hasSession: boolean;
}

/** How a listing can be shown. */
export const views = ['list', 'grid'] as const;
export type View = (typeof views)[number];

/** The links to both views; the one of the current view is hidden. */
export function viewSwitch({ language }: PageContext) {
  return html`<a class="button quiet to-grid" href="?view=grid" title="${language.text('asGrid')}">${icon('grid')}<span class="hidden">${language.text('asGrid')}</span></a>
<a class="button quiet to-list" href="?view=list" title="${language.text('asList')}">${icon('list')}<span class="hidden">${language.text('asList')}</span></a>`;
}

/** The beginning of every page, up to the title in its head. */
export function pageStart({ language, theme }: { language: Language; theme: Theme }): Html {
  return html`<!doctype html>
<html lang="${language.tag}" dir="ltr"${theme !== 'system' && html` data-theme="${theme}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">`;
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "media-src 'self'",
  // The preview of a PDF. No page lets itself be framed.
  "frame-src 'self'",
  // The script parses a drawing by requesting a blob that it made.
  "connect-src 'self' blob:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** Headers of every page: nothing from other origins, no inline code, no frames, no cache, and no script that turns text into HTML. */
export function pageHeaders({ linked }: Pick<PageContext, 'linked'>): ReplyHeaders {
  // The URL of a link's page is a secret, so no request may carry it as a referrer.
  if (linked) return { ...pageHeaders({ linked: undefined }), 'referrer-policy': 'no-referrer' };
  return headersWith(`${policy}; require-trusted-types-for 'script'; trusted-types 'none'`);
}

/** Headers of the API page: Swagger UI turns text into HTML and sanitizes it itself. */
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
