/** A text with `{name}` placeholders, or its singular and plural forms. */
export type Text = string | { readonly one: string; readonly other: string };

/** Values of the placeholders. `count` selects the singular or the plural. */
export type TextValues = Readonly<Record<string, string | number>>;

/** Returns whether a count takes the singular in a language of the pages. `Intl.PluralRules` would take too long for a page. */
function isOne(language: string, count: number): boolean {
  return count === 1 || (count === 0 && language === 'fr');
}

/**
 * Fills in the placeholders of a text. Numbers are formatted for the language.
 *
 * @param language BCP 47 tag of the language of `text`
 */
export function fillText(language: string, text: Text, values: TextValues = {}): string {
  const form = typeof text === 'string' ? text : isOne(language, Number(values.count)) ? text.one : text.other;
  return form.replace(/\{([a-z]+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) return placeholder;
    return typeof value === 'number' ? value.toLocaleString(language) : value;
  });
}

/**
 * Translates an English message, in which quoted parts and numbers vary.
 *
 * @param texts translations by the message with `{}` in place of these parts
 * @returns undefined without a translation
 */
export function translatedMessage(texts: Readonly<Record<string, string>>, message: string): string | undefined {
  const parts: string[] = [];
  const key = message.replace(/"[^"]*"|\d[\d,]*/g, (part) => {
    parts.push(part);
    return '{}';
  });
  return Object.hasOwn(texts, key) ? texts[key]?.replace(/\{\}/g, () => parts.shift() ?? '') : undefined;
}
