import { escapeInvisible, visibleControls } from '../../../lib/display-name.ts';
import { type IconName, iconShapes } from '../../../lib/icon-shapes.ts';

/** An icon as inline SVG in the colour of the text; hidden from readers, which get the label beside it. */
export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="${iconShapes[name]}"/></svg>`);
}

/** HTML text. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for HTML content and for quoted attributes. Control characters become visible pictures of themselves. */
export function escapeHtml(text: string): string {
  return visibleControls(text.replace(/[&<>"']/g, (character) => entities[character] as string));
}

/** Escapes a value that a form sends back, with every character kept. */
export function escapeFormValue(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] as string)
    .replace(/[\u0000-\u001f\u007f]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A name for people (`escapeInvisible`), as HTML. */
export function nameHtml(name: string): string {
  return escapeInvisible(escapeHtml(name));
}

/** The same, isolated from the text direction around it. */
export function bdi(name: string): Html {
  return new Html(`<bdi>${nameHtml(name)}</bdi>`);
}

type Part = Html | string | number | undefined | false | readonly Html[];

function partText(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map((item) => item.text).join('') : escapeHtml(String(part));
}

/** A template whose values are escaped unless they are `Html`. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, index) => text + (index < parts.length ? partText(parts[index]) : '')).join(''));
}
