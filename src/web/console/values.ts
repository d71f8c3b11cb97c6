import { type Child, make } from '../shared/dom.ts';
import { text } from './language.ts';
import { clear, datum, numberText } from './shown.ts';

/** Shows a JSON value as nested lists of names and values. */
export function tree(value: unknown): Child {
  if (value === null || typeof value !== 'object') return leaf(value);
  const entries = Array.isArray(value) ? value.map((item, index) => [String(index + 1), item] as const) : Object.entries(value);
  if (entries.length === 0) return make('span.hint', Array.isArray(value) ? '[]' : '{}');
  const items = entries.map(([name, item]) => make('div', make('dt', make('bdi', ...breakable(name))), make('dd', tree(item))));
  return make('dl.tree', ...items);
}

/** Returns a name with places for line breaks after its underscores. */
function breakable(name: string): Child[] {
  return clear(name)
    .split(/(?<=_)/)
    .flatMap((part) => [part, make('wbr')]);
}

function leaf(value: unknown): HTMLElement {
  if (typeof value === 'string') return value === '' ? make('span.hint', '""') : datum(value);
  return datum(String(value));
}

/** Shows a text in a scrollable box. @param label accessible name for screen readers */
function source(content: string, label: string): HTMLElement {
  return make('pre.source', { tabIndex: 0, role: 'group', ariaLabel: label }, clearLines(content));
}

/** Shows a sent or received body; JSON is indented. */
export function bodySource(body: unknown, label: string): HTMLElement {
  if (typeof body !== 'string') return source(JSON.stringify(body, null, 2), label);
  try {
    return source(JSON.stringify(JSON.parse(body), null, 2), label);
  } catch {
    return source(body, label);
  }
}

/** Makes control characters visible like `clear`, but keeps line breaks and tabs. */
function clearLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.split('\t').map(clear).join('\t'))
    .join('\n');
}

/** Formats the number of finished items and the total. @param total null if it is unknown */
export function countText(done: number, total: number | null): string {
  return total === null ? numberText(done) : text('running', { done, total });
}
