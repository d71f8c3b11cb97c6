/** A text for people: with `{name}` places, or one form for each plural that the language has. */
export type Text = string | { readonly one: string; readonly other: string };

/** Values of the places of a text; `count` chooses the plural form. */
export type TextValues = Readonly<Record<string, string | number>>;

/** Whether a count takes the form for one, in the languages that pages have: `Intl.PluralRules` would hold up the start of a page. */
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
  return form.replace(/\{([a-z]+)\}/g, (place, name: string) => {
    const value = values[name];
    if (value === undefined) return place;
    return typeof value === 'number' ? value.toLocaleString(language) : value;
  });
}
