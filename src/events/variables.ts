import { eventCatalogue, pathMembers } from './catalogue.ts';
import type { ServiceEvent } from './event.ts';
import { allTimestamps } from './timestamps.ts';

/** The variables that are single members of an event (docs/spec/events.md#variables), by lower-case name. */
const members: Record<string, (event: ServiceEvent) => string | undefined> = {
  id: (event) => event.id,
  uuid: (event) => event.uuid,
  message: (event) => event.message,
  'account.name': ({ account }) => account.name,
  'account.email': ({ account }) => account.email,
  'account.uuid': ({ account }) => account.uuid,
  'account.peer.address': ({ account }) => account.peer.address,
  'account.peer.port': ({ account }) => String(account.peer.port),
  'account.peer.protocol': ({ account }) => account.peer.protocol,
  'account.peer.family': ({ account }) => account.peer.family,
  'component.name': ({ component }) => component.name,
  'component.type': ({ component }) => component.type,
  'component.uuid': ({ component }) => component.uuid,
  'server.name': ({ server }) => server.name,
  'server.uuid': ({ server }) => server.uuid,
  data_json: ({ data }) => JSON.stringify(data),
};

const timestampNames = new Set(Object.keys(allTimestamps('0')));
const dataNames = new Set([...pathMembers, ...eventCatalogue.flatMap(({ data }) => data)]);

/**
 * Returns the value of a template variable for an event.
 *
 * @param name name without braces, in upper or lower case. In `data.<path>`, each part of the path is the name of a member or a list index
 * @returns undefined if the event has no such value
 */
export function eventVariable(event: ServiceEvent, name: string): string | undefined {
  const lowerName = name.toLowerCase();
  const member = Object.hasOwn(members, lowerName) ? members[lowerName] : undefined;
  if (member) return member(event);
  if (lowerName.startsWith('data.')) return stringify(findValue(event.data, lowerName.slice('data.'.length)));
  if (lowerName.startsWith('timestamp.')) return formatTimestamp(event, lowerName.slice('timestamp.'.length));
  return undefined;
}

/** Whether any event of the catalogue can have a variable with this name. */
export function isKnownVariable(name: string): boolean {
  const lowerName = name.toLowerCase();
  if (Object.hasOwn(members, lowerName)) return true;
  const [root = '', first = ''] = lowerName.split('.', 2);
  if (root === 'timestamp') return timestampNames.has(lowerName.slice('timestamp.'.length));
  return root === 'data' && dataNames.has(first);
}

// `cwa_14051` is read from the event, because it is the local time of the server that wrote the event.
function formatTimestamp(event: ServiceEvent, name: string): string | undefined {
  if (!timestampNames.has(name)) return undefined;
  if (name === 'timestamp' || name === 'cwa_14051') return event.timestamp[name];
  const forms: Record<string, string> = allTimestamps(event.timestamp.timestamp);
  return forms[name];
}

// A key may contain dots, such as `project.id` in `data.metadata.project.id`. The longest matching key is therefore tried first.
function findValue(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
    const name = path.slice(0, end);
    const key = Object.keys(value).find((candidate) => candidate.toLowerCase() === name);
    if (key === undefined) continue;
    const found = (value as Record<string, unknown>)[key];
    const result = end === path.length ? found : findValue(found, path.slice(end + 1));
    if (result !== undefined) return result;
  }
  return undefined;
}

function stringify(value: unknown): string | undefined {
  if (typeof value === 'string' || value === undefined) return value;
  return value === null ? '' : JSON.stringify(value);
}
