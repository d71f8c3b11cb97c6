/** A text with `{name}` placeholders, or one form for each plural of the language. */
export type Text = string | { readonly one: string; readonly other: string };

/** Values of the placeholders; `count` chooses the plural form. */
export type TextValues = Readonly<Record<string, string | number>>;

/** Whether a count uses the singular, in the languages of the pages. `Intl.PluralRules` would delay a page. */
function isOne(language: string, count: number): boolean {
  return count === 1 || (count === 0 && language === 'fr');
}

/**
 * Writes a text in its language. Numbers get the language's digits and separators.
 *
 * @param language BCP 47 tag of the language that `text` is in
 */
export function fillText(language: string, text: Text, values: TextValues = {}): string {
  const form = typeof text === 'string' ? text : isOne(language, Number(values.count)) ? text.one : text.other;
  return form.replace(/\{([a-z]+)\}/g, (placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) return placeholder;
    return typeof value === 'number' ? value.toLocaleString(language) : value;
  });
}
