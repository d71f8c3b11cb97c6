import { type Child, make } from '../shared/dom.ts';
import { clear, clearLines, datum } from './shown.ts';

/** A value of JSON as a list of names and values. */
export function tree(value: unknown): Child {
  if (value === null || typeof value !== 'object') return leaf(value);
  const entries = Array.isArray(value) ? value.map((item, index) => [String(index + 1), item] as const) : Object.entries(value);
  if (entries.length === 0) return make('span', { className: 'hint' }, Array.isArray(value) ? '[]' : '{}');
  const items = entries.map(([name, item]) => make('div', {}, make('dt', {}, make('bdi', {}, clear(name))), make('dd', {}, tree(item))));
  return make('dl', { className: 'tree' }, ...items);
}

function leaf(value: unknown): HTMLElement {
  if (typeof value === 'string') return value === '' ? make('span', { className: 'hint' }, '""') : datum(value);
  return make('code', {}, String(value));
}

/** A text as it is, in a box that scrolls. @param label says what it is */
export function source(content: string, label: string): HTMLElement {
  return make('pre', { className: 'source', tabIndex: 0, attributes: { role: 'group', 'aria-label': label } }, clearLines(content));
}

/** A body that was sent or received: JSON as people read it, else as it is. */
export function bodySource(body: unknown, label: string): HTMLElement {
  if (typeof body !== 'string') return source(JSON.stringify(body, null, 2), label);
  try {
    return source(JSON.stringify(JSON.parse(body), null, 2), label);
  } catch {
    return source(body, label);
  }
}
