import { make } from '../../../shared/dom.ts';
import { growingList } from '../growing-list.ts';
import { previewText } from '../preview-text.ts';
import type { Json } from './json.ts';

/** Members that are shown at first, and so many more each time. */
const batch = 100;

/** Characters of a text that are shown. */
const maxCharacters = 2000;

/** Shows JSON as a tree that unfolds; what is folded has no elements yet. */
export function showJson(value: Json): HTMLElement {
  const root = make('ul', { className: 'tree' }, make('li', {}, ...shown(undefined, value)));
  const first = root.querySelector('details');
  if (first) first.open = true;
  return root;
}

function shown(name: string | undefined, value: Json): Node[] {
  const label = name === undefined ? [] : [make('span', { className: 'c-property' }, cut(name)), new Text(': ')];
  if (value.kind === 'string') return [...label, make('span', { className: 'c-string' }, JSON.stringify(cut(value.text)))];
  if (value.kind === 'other') return [...label, make('span', { className: 'c-number' }, cut(value.text))];
  const [open, end] = value.kind === 'object' ? ['{', '}'] : ['[', ']'];
  const count = sizeOf(value);
  if (count === 0) return [...label, new Text(open + end)];
  const summary = make(
    'summary',
    {},
    ...label,
    `${open} `,
    make('span', { className: 'hint' }, previewText('values', { count })),
    ` ${end}`,
  );
  const details = make('details', {}, summary);
  details.addEventListener('toggle', () => void unfold(details, value), { once: true });
  return [details];
}

type Folded = Extract<Json, { kind: 'object' | 'array' }>;

async function unfold(details: HTMLElement, value: Folded): Promise<void> {
  let count = 0;
  const next = () => {
    const from = count;
    count = Math.min(count + batch, sizeOf(value));
    return entries(value, from, count).map(([name, entry]) => make('li', {}, ...shown(name, entry)));
  };
  details.append(await growingList({ next, isAtEnd: () => count >= sizeOf(value) }));
}

function sizeOf(value: Folded): number {
  return value.kind === 'object' ? value.members.length : value.values.length;
}

function entries(value: Folded, from: number, to: number): [name: string, value: Json][] {
  if (value.kind === 'object') return value.members.slice(from, to);
  return value.values.slice(from, to).map((entry, index) => [String(from + index), entry]);
}

function cut(content: string): string {
  return content.length > maxCharacters ? `${content.slice(0, maxCharacters)}…` : content;
}
