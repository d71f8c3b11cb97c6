import { escapeInvisible, visibleControls } from './display-name.ts';
import { type IconName, iconShapes } from './icon-shapes.ts';

/** Renders an icon as inline SVG in the colour of the text. Screen readers skip the icon, and read only the label next to it. */
export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="${iconShapes[name]}"/></svg>`);
}

/** Text that is already HTML, so templates do not escape it. */
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

/** Escapes a text for HTML content and quoted attributes. Control characters are replaced by visible symbols. */
export function escapeHtml(text: string): string {
  return visibleControls(text.replace(/[&<>"']/g, (character) => entities[character] as string));
}

/** Escapes a value that a form sends back, so that the server receives exactly the same characters. */
export function escapeFormValue(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] as string)
    .replace(/[\u0000-\u001f\u007f]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Renders a name as HTML. Invisible characters are shown (`escapeInvisible`). */
export function nameHtml(name: string): string {
  return escapeInvisible(escapeHtml(name));
}

/** Like `nameHtml`, but isolates the name from the text direction around it. */
export function bdi(name: string): Html {
  return new Html(`<bdi>${nameHtml(name)}</bdi>`);
}

type Part = Html | string | number | undefined | false | readonly Html[];

function partText(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map((item) => item.text).join('') : escapeHtml(String(part));
}

/** A template tag that escapes all values except for `Html`. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, index) => text + (index < parts.length ? partText(parts[index]) : '')).join(''));
}
