/** Rules with references; each is looked for in the whole drawing. */
const mostRules = 500;

/** Properties that are looked at: those that may name other elements, or cost much. */
const isOfNote = /url\(|filter|\ball\b|inherit|--|\\/;

/** The styles of a drawing, which stand in elements of their own and in attributes: read by the browser's own parser, and applied nowhere. */
export class StyleReader {
  /** Whether all of them can be told. */
  isClear = true;
  readonly #drawing: Document;
  readonly #found = new Map<Element, [name: string, value: string][]>();
  readonly #scratch: CSSStyleDeclaration;
  #rules = 0;

  constructor(drawing: Document) {
    this.#drawing = drawing;
    const scratch = sheetOf('a{}');
    this.#scratch = (scratch.cssRules[0] as CSSStyleRule).style;
    for (const style of drawing.getElementsByTagNameNS('*', 'style')) {
      const text = style.textContent ?? '';
      // What is imported is not read here.
      if (/@(i|\\)/i.test(text)) this.isClear = false;
      if (!this.isClear) return;
      this.#read(sheetOf(text).cssRules);
    }
  }

  /** Properties of an element that may name others, with their values as the browser writes them. */
  *of(element: Element): Generator<[name: string, value: string]> {
    yield* this.#found.get(element) ?? [];
    const text = element.getAttribute('style');
    if (text === null || !isOfNote.test(text)) return;
    this.#scratch.cssText = text;
    yield* valuesOf(this.#scratch);
  }

  /** The value of an attribute that may be a property, without the escapes of CSS. */
  plain(name: string, value: string): string {
    if (!value.includes('\\')) return value;
    this.#scratch.cssText = '';
    this.#scratch.setProperty(name, value);
    return this.#scratch.getPropertyValue(name);
  }

  #read(rules: CSSRuleList): void {
    for (const rule of rules) {
      if (rule instanceof CSSStyleRule) this.#apply(rule);
      else if (rule instanceof CSSGroupingRule) this.#read(rule.cssRules);
      // Of what else there is, an animation may name other elements.
      else if (!(rule instanceof CSSFontFaceRule) && isOfNote.test(rule.cssText)) this.isClear = false;
    }
  }

  #apply(rule: CSSStyleRule): void {
    if (rule.cssRules?.length > 0) this.isClear = false;
    if (!isOfNote.test(rule.style.cssText)) return;
    const values = valuesOf(rule.style);
    this.#rules++;
    if (this.#rules > mostRules) this.isClear = false;
    if (!this.isClear) return;
    for (const element of this.#drawing.querySelectorAll(rule.selectorText))
      this.#found.set(element, [...(this.#found.get(element) ?? []), ...values]);
  }
}

function sheetOf(text: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

function valuesOf(declaration: CSSStyleDeclaration): [name: string, value: string][] {
  return [...declaration].map((name) => [name, declaration.getPropertyValue(name)]);
}
