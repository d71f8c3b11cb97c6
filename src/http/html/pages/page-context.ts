import type { Language } from './locales/language.ts';

/** Colours of the pages: as the system says, or as the reader chose. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** What every page knows of its reader and of the service. */
export interface PageContext {
  language: Language;
  theme: Theme;
  appearance: Appearance;
  /** Path and query of the page itself. */
  url: string;
}

/** Where the pages find what makes a service look like its owner's. */
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
  maySeeRecent: boolean;
  hasSession: boolean;
}
