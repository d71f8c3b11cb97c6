import type { Language } from './locales/language.ts';

/** Colours of the pages: as the system says, or as the reader chose. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** What every page knows of its reader and of the service. */
export interface PageContext {
  language: Language;
  theme: Theme;
  appearance: {
    title: string;
    footer: string;
    footerLinks: readonly { label: string; url: string }[];
    stylePath: string | undefined;
    logoPath: string | undefined;
  };
  /** Path and query of the page itself. */
  url: string;
}

/** Who is signed in, and what the menu offers. */
export interface PageAccount {
  name: string;
  isAnonymous: boolean;
  mayChangePassword: boolean;
  maySeeRecent: boolean;
  hasSession: boolean;
}
