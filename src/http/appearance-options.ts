import { readFileSync, statSync } from 'node:fs';
import { extname } from 'node:path';
import * as z from 'zod';

import { readingFault } from '../lib/disk/named-file.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';

import { optionalText } from '../lib/option-types.ts';

/** Relative luminance of a colour `#rrggbb` (WCAG 2.2, "relative luminance"). */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/**
 * The contrast ratio of two colours (WCAG 2.2, "contrast ratio"), from 1 for equal colours to 21 for black on white.
 *
 * @param a `#rrggbb`
 * @param b `#rrggbb`
 */
export function contrastRatio(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((first, second) => first - second);
  return (light + 0.05) / (dark + 0.05);
}

/** Contrast that text must have (WCAG 2.2, 1.4.3). */
const leastContrast = 4.5;

/** Background colours on which the accent colour appears. They must be the same as in the style sheets of the pages. */
const grounds = { light: ['#f6f7f9', '#ffffff'], dark: ['#14171c', '#1c2027', '#262b34'] } as const;

function accentColor(scheme: keyof typeof grounds) {
  return z.union([z.literal(''), z.null().transform(() => ''), z.string()]).transform((value, context) => {
    if (value === '') return '';
    const issue = (message: string) => context.addIssue({ code: 'custom', message });
    if (!/^#[0-9a-f]{6}$/i.test(value)) {
      issue('must be a colour such as #0b5cad');
      return '';
    }
    const least = Math.min(...grounds[scheme].map((ground) => contrastRatio(value, ground)));
    if (least < leastContrast) {
      const hint = scheme === 'light' ? 'darker' : 'lighter';
      issue(
        `has a contrast of ${(Math.floor(least * 10) / 10).toFixed(1)}:1 on the ${scheme} pages, but text needs ${leastContrast}:1; choose a ${hint} colour`,
      );
    }
    return value.toLowerCase();
  });
}

const links = z.union([z.record(z.string().min(1), z.string()), z.null()]).transform((value, context): { label: string; url: string }[] =>
  Object.entries(value ?? {}).map(([label, url]) => {
    if (!URL.canParse(url) || !/^(https?|mailto):/i.test(url))
      context.addIssue({ code: 'custom', message: `the URL of "${label}" must be an http, https or mailto URL` });
    return { label, url };
  }),
);

/** The appearance of the browser pages of a service (`services.<UUID>.appearance`). */
export const appearanceOptions = z
  .strictObject({
    title: z
      .string()
      .max(80, 'must not have more than 80 characters')
      .default('')
      .describe('Title of every page; default: the word "Files" in the language of the reader.'),
    logo_path: optionalText().default('').describe('Image beside the title: SVG, PNG, JPEG or WebP, at most 512 KiB.'),
    footer: z.string().max(500, 'must not have more than 500 characters').default('').describe('Text at the bottom of every page.'),
    footer_links: links.default([]).describe('Links at the bottom of every page, for example an imprint: a map from label to URL.'),
    accent_color: accentColor('light')
      .default('')
      .describe('Colour of links and buttons on light pages, `#rrggbb`. Colours whose contrast with the page is below 4.5:1 are refused.'),
    accent_color_dark: accentColor('dark').default('').describe('Colour of links and buttons on dark pages.'),
  })
  .describe('Appearance of the browser pages.');

export type AppearanceOptions = z.infer<typeof appearanceOptions>;

/** Maximum size of a logo in bytes. It is limited because every visitor loads the logo. */
const logoLimitBytes = 512 * 1024;

const logoTypes: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
};

export interface Logo {
  type: string;
  content: Buffer;
}

/** Reads a logo. @throws ServiceError `bad-request`, which says what is wrong with the file */
export function readLogo(path: string): Logo {
  const type = logoTypes[extname(path).toLowerCase()];
  if (!type) throw new ServiceError('bad-request', 'the logo must be an SVG, PNG, JPEG or WebP file');
  try {
    if (statSync(path).size > logoLimitBytes) throw new ServiceError('bad-request', `the logo is larger than ${logoLimitBytes} bytes`);
    return { type, content: readFileSync(path) };
  } catch (error) {
    if (isServiceError(error)) throw error;
    throw new ServiceError('bad-request', `the logo cannot be read: ${readingFault(path, error)}`, { cause: error });
  }
}
