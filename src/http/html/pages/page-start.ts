import { type Html, html } from './html.ts';
import type { Language } from './locales/language.ts';
import type { Theme } from './page-context.ts';

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
