import { scriptTexts as de } from '../pages/locales/de.ts';
import { scriptTexts as en, type ScriptTextName } from '../pages/locales/en.ts';
import { scriptTexts as es } from '../pages/locales/es.ts';
import { scriptTexts as fr } from '../pages/locales/fr.ts';
import { fillText, type Text, type TextValues } from '../pages/locales/text.ts';

const all: Readonly<Record<string, Record<ScriptTextName, Text>>> = { en, de, fr, es };

/** Language of the page, as the service chose it by `Accept-Language`. */
export const tag = document.documentElement.lang in all ? document.documentElement.lang : 'en';
const texts = all[tag] ?? en;

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
