import { eventKind, eventKinds } from '../event-kinds.ts';
import { text } from '../language.ts';

/** The keys of conditions in the search bar, and their names in the API. */
const keys = {
  event: 'id',
  '-event': 'not_id',
  account: 'account',
  path: 'path',
  address: 'address',
  status: 'status',
  group: 'group',
  request: 'request_id',
  component: 'component',
  message: 'message',
  text: 'text',
} as const;
export const isQueryKey = (key: string) => Object.hasOwn(keys, key);
export type QueryKey = keyof typeof keys;

export const offeredKeys = ['event', 'account', 'path', 'status', 'address', 'group', 'request', '-event'] as const satisfies QueryKey[];

/** The outcomes of events in the search bar, and their names in the API. */
const statuses = { failed: 'failure', succeeded: 'success', informational: 'informational' } as const;
export const statusNames = Object.keys(statuses);

export interface Condition {
  key: QueryKey;
  /** The value as it is written in the search bar. */
  value: string;
}

/** Lengths of the time ranges that end now, in milliseconds. */
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000, '30d': 30 * 86_400_000 } as const;

/** Returns the conditions in the query of a URL, in their order. */
export function readConditions(query: URLSearchParams): Condition[] {
  return [...query].flatMap(([name, given]) => {
    const key = (Object.keys(keys) as QueryKey[]).find((candidate) => keys[candidate] === name);
    if (key === undefined) return [];
    const values = ['id', 'not_id', 'group', 'status'].includes(name) ? given.split(',') : [given];
    return values.filter((value) => value !== '').map((value) => ({ key, value: shownValue(key, value) }));
  });
}

function shownValue(key: QueryKey, value: string): string {
  if (key === 'path' && value.endsWith('/')) return `${value}*`;
  if (key === 'status') return Object.entries(statuses).find(([, name]) => name === value)?.[0] ?? value;
  return value;
}

/** Returns a copy of a query in which the given conditions replace the old ones. Other parameters, such as times, are copied. */
export function withConditions(query: URLSearchParams, conditions: readonly Condition[]): URLSearchParams {
  const next = new URLSearchParams();
  const names = new Set<string>(Object.values(keys));
  for (const { key, value } of conditions) {
    const name = keys[key];
    const sent = sentValue(key, value);
    if (name === 'text') next.set(name, [...next.getAll(name), sent].join(' '));
    else if (!next.getAll(name).includes(sent)) next.append(name, sent);
  }
  for (const [name, value] of query) if (!names.has(name)) next.append(name, value);
  return next;
}

function sentValue(key: QueryKey, value: string): string {
  if (key === 'path') return value.replace(/\/\*+$/, '/');
  if (key === 'status') return Object.hasOwn(statuses, value) ? statuses[value as keyof typeof statuses] : value;
  return value;
}

/** Returns a query with one more condition. */
export function withCondition(query: URLSearchParams, key: QueryKey, value: string): URLSearchParams {
  return withConditions(query, [...readConditions(query), { key, value }]);
}

/** Returns the reason why a condition can never match; undefined for a valid condition. */
export function conditionProblem({ key, value }: Condition): string | undefined {
  if (value === '') return text('conditionEmpty', { key });
  if (key === 'event' || key === '-event') {
    if (!/^\d{1,6}$/.test(value) || (eventKinds().length > 0 && !eventKind(value))) return text('noSuchEvent', { value });
  }
  if (key === 'status' && !statusNames.includes(value)) return text('noSuchStatus', { value, known: statusNames.join(', ') });
  if (key === 'group' && !groupNames().includes(value) && groupNames().length > 0) return text('noSuchGroup', { value });
  if (key === 'path' && /\*/.test(value.replace(/\/\*+$/, ''))) return text('starAtEnd');
  return undefined;
}

/** Returns the reason why a time range cannot be searched; undefined for a valid range. */
export function timeProblem(query: URLSearchParams): string | undefined {
  const [since, until] = ['since', 'until'].map((name) => query.get(name));
  for (const time of [since, until]) if (time && Number.isNaN(Date.parse(time))) return text('noSuchTime', { value: time });
  return since && until && Date.parse(since) >= Date.parse(until) ? text('sinceAfterUntil') : undefined;
}

/** Returns the names of all groups of event kinds. */
export function groupNames(): string[] {
  return [...new Set(eventKinds().flatMap(({ groups }) => groups))];
}

/** Returns a condition as it is typed in the bar. */
export function conditionText({ key, value }: Condition): string {
  return `${key}:${/[\s"]/.test(value) ? `"${value.replaceAll('"', '\\"')}"` : value}`;
}

/** The words in the bar, each with its key, and with its value in quotation marks or without. */
export const typedWords = /(?:(-?[a-z]+):)?(?:"((?:[^"\\]|\\.)*)"|(\S*))/g;

/** Reads conditions such as `event:40017 account:"Anna Weber" report`. Words without a key become a search for text. */
export function parseConditions(input: string): Condition[] {
  const conditions: Condition[] = [];
  const words: string[] = [];
  for (const [whole, key, quoted, plain] of input.matchAll(typedWords)) {
    if (whole === '') continue;
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '';
    if (key === undefined) words.push(value);
    else if (Object.hasOwn(keys, key))
      conditions.push({ key: key as QueryKey, value: key === 'event' || key === '-event' ? findEventId(value) : value });
    // A word such as a URL has `:` after letters that are not a known key, so it is text.
    else words.push(whole);
  }
  if (words.length > 0) conditions.push({ key: 'text', value: words.join(' ') });
  return conditions;
}

/** Returns a name in the form in which names are compared: without case, accents, hyphens and curved apostrophes. */
export function foldedWords(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[-\s]+/g, ' ')
    .replaceAll('’', "'")
    .toLowerCase();
}

/** Returns the number of the event kind with this name. Any other value, such as a number, is returned unchanged. */
function findEventId(value: string): string {
  const wanted = foldedWords(value);
  return eventKinds().find(({ name, english }) => foldedWords(name) === wanted || foldedWords(english) === wanted)?.id ?? value;
}

/** Returns a copy of a query in which the time `since` replaces the time range `last`, which ends now. */
export function withoutSpan(query: URLSearchParams, nowMs = Date.now()): URLSearchParams {
  const asked = new URLSearchParams(query);
  asked.delete('last');
  const last = query.get('last') ?? '';
  if (Object.hasOwn(spans, last)) asked.set('since', new Date(nowMs - spans[last as keyof typeof spans]).toISOString());
  return asked;
}

/**
 * Converts the page's query to that of the API. The time range `last` becomes a time `since`. Routine events are excluded, unless the query
 * asks for them or for certain kinds of events.
 */
export function apiQuery(query: URLSearchParams, nowMs = Date.now()): URLSearchParams {
  const asked = withoutSpan(query, nowMs);
  asked.delete('routine');
  if (!query.has('routine') && !query.has('id')) for (const { id, is_routine } of eventKinds()) if (is_routine) asked.append('not_id', id);
  return asked;
}
