import { escapeInvisible, visibleControls } from './display-name.ts';
import { type IconName, iconShapes } from './icon-shapes.ts';

/** Renders an icon as inline SVG. Screen readers skip it. */
export function icon(name: IconName): Html {
  return new Html(`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d="${iconShapes[name]}"/></svg>`);
}

/** Text that is already HTML. */
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

/** Escapes HTML content and quoted attributes. Control characters become visible symbols. */
export function escapeHtml(text: string): string {
  return visibleControls(text.replace(/[&<>"']/g, (character) => entities[character] as string));
}

/** Escapes a value that a form sends back unchanged. */
export function escapeFormValue(text: string): string {
  return text
    .replace(/[&<>"']/g, (character) => entities[character] as string)
    .replace(/[\u0000-\u001f\u007f]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Renders a name with visible invisible characters (`escapeInvisible`). */
export function nameHtml(name: string): string {
  return escapeInvisible(escapeHtml(name));
}

/** Like `nameHtml`, but isolated from the text direction around it. */
export function bdi(name: string): Html {
  return new Html(`<bdi>${nameHtml(name)}</bdi>`);
}

type Part = Html | string | number | undefined | false | readonly Html[];

function partText(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map((item) => item.text).join('') : escapeHtml(String(part));
}

/** Escapes all values except for `Html`. */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(strings.map((text, index) => text + (index < parts.length ? partText(parts[index]) : '')).join(''));
}
