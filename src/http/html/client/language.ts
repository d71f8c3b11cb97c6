import { fillText, type Text, type TextValues } from '../pages/locales/text.ts';
import { scriptTexts as english, type ScriptTextName } from './texts/en.ts';

const others: Readonly<Record<string, () => Promise<{ scriptTexts: Record<ScriptTextName, Text> }>>> = {
  de: () => import('./texts/de.ts'),
  es: () => import('./texts/es.ts'),
  fr: () => import('./texts/fr.ts'),
};

const { lang } = document.documentElement;
// Of a language that cannot be had just now the reader gets the English texts.
const loaded = await others[lang]?.().catch(() => undefined);
/** Language of the page, as the service chose it by `Accept-Language`. */
export const tag = loaded ? lang : 'en';
const texts: Record<ScriptTextName, Text> = loaded?.scriptTexts ?? english;

/** The same language with the reader's region, for dates and numbers. */
export const formatTag = navigator.languages.find((candidate) => candidate.split('-')[0] === tag) ?? tag;

/** A text in the language of the page. */
export function text(name: ScriptTextName, values?: TextValues): string {
  return fillText(tag, texts[name], values);
}

const sizes = (['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const).map(
  (unit) =>
    new Intl.NumberFormat(formatTag, { style: 'unit', unit, unitDisplay: unit === 'byte' ? 'long' : 'short', maximumFractionDigits: 1 }),
);

/** A size for people, in powers of 1000. */
export function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), sizes.length - 1);
  return sizes[power]?.format(bytes / 1000 ** power) ?? '';
}

/** A duration for people, in the largest unit that says enough. */
export function durationText(seconds: number): string {
  const [value, unit] = seconds < 90 ? [seconds, 'second'] : seconds < 5400 ? [seconds / 60, 'minute'] : [seconds / 3600, 'hour'];
  return new Intl.NumberFormat(formatTag, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 0 }).format(
    Math.max(1, Math.round(value)),
  );
}
