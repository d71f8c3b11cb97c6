import { fillText, type Text, type TextValues } from '../../lib/translated-text.ts';

const { lang } = document.documentElement;

/** The language of the page with the user's region, for dates and numbers. */
export const formatTag = navigator.languages.find((candidate) => candidate.split('-')[0] === lang) ?? lang;

/** Texts that all scripts share. They are for dialogs, messages, and parts that are loaded later. */
type SharedTextName = 'cancel' | 'close' | 'running' | 'stop';
type Texts<Name extends string> = Readonly<Record<Name | SharedTextName, Text>>;

let loaded: { tag: string; texts: Texts<never> } | undefined;

/** Loads the texts of a script in the language of the page. If that fails, the texts are English. */
export async function loadTexts<Name extends string>(
  english: Texts<Name>,
  others: Readonly<Record<string, () => Promise<{ default: Texts<Name> }>>>,
): Promise<{ tag: string; texts: Texts<Name> }> {
  const other = await others[lang]?.().catch(() => undefined);
  const chosen = other ? { tag: lang, texts: other.default } : { tag: 'en', texts: english };
  loaded = chosen;
  return chosen;
}

/** Creates the text function of a part of the script that contains its own texts in all languages. */
export function partTexts<Name extends string>(
  all: Readonly<Record<string, Readonly<Record<Name, Text>>>> & { en: Readonly<Record<Name, Text>> },
) {
  return (name: Name, values?: TextValues): string => {
    const { tag } = loaded ?? { tag: 'en' };
    return fillText(tag, (all[tag] ?? all.en)[name], values);
  };
}

/** Returns a shared text in the language of the page. */
export function sharedText(name: SharedTextName, values?: TextValues): string {
  return loaded ? fillText(loaded.tag, loaded.texts[name], values) : '';
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;

/** Cached number formats by unit, because creating a format takes longer than using it. */
const formats = new Map<number, Intl.NumberFormat>();

function unitFormat(power: number): Intl.NumberFormat {
  const unit = units[power] as (typeof units)[number];
  const unitDisplay = unit === 'byte' ? 'long' : 'short';
  const format = formats.get(power) ?? new Intl.NumberFormat(formatTag, { style: 'unit', unit, unitDisplay, maximumFractionDigits: 1 });
  formats.set(power, format);
  return format;
}

/** Formats a size in decimal units: a kilobyte has 1000 bytes. */
export function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  return unitFormat(power).format(Math.round((bytes / 1000 ** power) * 10) / 10);
}

/** Formats a duration in the largest suitable unit. */
export function durationText(seconds: number, unitDisplay: 'short' | 'long' = 'short'): string {
  const [value, unit] = seconds < 90 ? [seconds, 'second'] : seconds < 5400 ? [seconds / 60, 'minute'] : [seconds / 3600, 'hour'];
  return new Intl.NumberFormat(formatTag, { style: 'unit', unit, unitDisplay, maximumFractionDigits: 0 }).format(
    Math.max(1, Math.round(value)),
  );
}
