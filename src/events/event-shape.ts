import { deepestJson, isObject } from '../lib/json.ts';

/** Deepest nesting of an event: what came from a remote endpoint stands two levels deep in it, as a member of `data`. */
export const deepestEvent = deepestJson + 2;

/** Seconds that a date can show (ECMA-262, "Time Values"), with a fraction. */
const unixTime = /^\d{1,12}(?:\.\d{1,12})?$/;

/** Members that every event has (docs/spec/events.md#event-object). */
const texts = ['id', 'uuid', 'message'] as const;

/** @returns why a value is no event object, or undefined when it is one */
export function eventProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'not an event object';
  for (const name of texts) if (typeof value[name] !== 'string') return `"${name}" must be a string`;
  if (!isObject(value.timestamp) || !unixTime.test(String(value.timestamp.timestamp)))
    return '"timestamp.timestamp" must be Unix time as a string';
  if (!isObject(value.data)) return '"data" must be an object';
  if (!isObject(value.account) || !hasNames(value.account)) return '"account" must have uuid and name';
  if (!isObject(value.account.peer) || typeof value.account.peer.address !== 'string') return '"account.peer" must have an address';
  if (!isObject(value.component) || typeof value.component.uuid !== 'string') return '"component" must have a uuid';
  if (!isObject(value.server) || typeof value.server.uuid !== 'string') return '"server" must have a uuid';
  return undefined;
}

function hasNames(account: Record<string, unknown>): boolean {
  return typeof account.uuid === 'string' && typeof account.name === 'string';
}
