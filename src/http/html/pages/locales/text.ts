/** A text for people: with `{name}` places, or one form for each plural that the language has. */
export type Text = string | { readonly one: string; readonly other: string };

/** Values of the places of a text; `count` chooses the plural form. */
export type TextValues = Readonly<Record<string, string | number>>;

const pluralRules = new Map<string, Intl.PluralRules>();

function isOne(language: string, count: number): boolean {
  let rules = pluralRules.get(language);
  if (!rules) {
    rules = new Intl.PluralRules(language);
    pluralRules.set(language, rules);
  }
  return rules.select(count) === 'one';
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
