import { type EventGroup, eventDefinition, isEventId } from '../../catalogue.ts';
import type { ServiceEvent } from '../../event.ts';
import { eventIds } from '../../event-ids.ts';

/** The groups that describe the outcome of an operation. */
export const eventStatuses = ['success', 'failure', 'informational'] as const satisfies EventGroup[];

/**
 * A selection of events. An event must match every given member. It matches a list if it matches one of the items. An empty list matches
 * all events.
 */
export interface EventSelection {
  id: number[];
  uuid: string[];
  /** Events at or after this Unix time in milliseconds. */
  since?: number;
  /** Events before this Unix time in milliseconds. */
  until?: number;
  /** IDs of events that are left out. */
  exceptId?: number[];
  group?: EventGroup[];
  /** Outcomes (`eventOutcomes`). If `status` and `group` are given, both must match. */
  status?: (typeof eventStatuses)[number][];
  userGroup?: string[];
  /** Names or UUIDs of accounts, or names that clients gave in login attempts. */
  account?: string[];
  /** Virtual or real paths of files and folders. A path that ends in `/` also matches everything below that folder. */
  path?: string[];
  address?: string[];
  requestId?: string[];
  /** UUIDs of components that caused events. */
  component?: string[];
  /** Patterns of messages, as `messagePattern` returns them. */
  message?: string[] | undefined;
  /** A text that a value of the event contains. It is not a pattern, and is case-sensitive. */
  text?: string;
}

/** Whether an event is selected. @param userGroup the group of its account, which is not part of the event */
export function isSelected(event: ServiceEvent, selection: EventSelection, userGroup?: string): boolean {
  const { uuid, since, until, userGroup: userGroups, account, path, address, requestId, component, message, text } = selection;
  if (!isKindSelected(event, selection)) return false;
  if (uuid.length > 0 && !uuid.includes(event.uuid)) return false;
  const atMs = eventTimeMs(event);
  if ((since !== undefined && atMs < since) || (until !== undefined && atMs >= until)) return false;
  if (isGiven(userGroups) && (userGroup === undefined || !userGroups.includes(userGroup))) return false;
  if (isGiven(account) && !eventAccounts(event).some((name) => account.includes(name))) return false;
  if (isGiven(path) && !eventPaths(event).some((own) => path.some((wanted) => isAtOrBelow(own, wanted)))) return false;
  if (isGiven(address) && !address.includes(event.account.peer.address)) return false;
  if (isGiven(requestId) && !requestId.includes(String(event.data.request_id))) return false;
  if (isGiven(component) && !component.includes(event.component.uuid)) return false;
  if (isGiven(message) && !message.includes(messagePattern(event.message))) return false;
  return text === undefined || text === '' || hasText(event, text);
}

/**
 * Whether a selection includes the kind and the outcome of an event. If the outcome is in the event's data, and `event` has no data, the
 * outcome counts as included.
 */
export function isKindSelected(event: KindOfEvent, { id, exceptId, group, status }: EventSelection): boolean {
  if (id.length > 0 && !id.includes(Number(event.id))) return false;
  if (exceptId?.includes(Number(event.id))) return false;
  if (isGiven(group) && !eventGroups(event).some((name) => group.includes(name))) return false;
  return !isGiven(status) || eventOutcomes(event).some((name) => (status as EventGroup[]).includes(name));
}

/** Whether a selection has conditions only on the kind and the time of events. */
export function selectsByKind({ id, exceptId, group, status, since, until, ...rest }: EventSelection): boolean {
  return selectsAll(rest);
}

/** Whether a selection has no conditions. */
export function selectsAll(selection: Partial<EventSelection>): boolean {
  return Object.values(selection).every((given) => given === undefined || given === '' || (Array.isArray(given) && given.length === 0));
}

/** Returns the time of an event as Unix time in milliseconds. */
export function eventTimeMs({ timestamp }: ServiceEvent): number {
  return Number(timestamp.timestamp) * 1000;
}

/** Whether a list is given and not empty. An empty list sets no condition. */
export function isGiven<T>(list: readonly T[] | undefined): list is readonly T[] {
  return list !== undefined && list.length > 0;
}

/** Returns the names and UUIDs by which a search for an account finds an event. */
export function eventAccounts({ account, data }: ServiceEvent): string[] {
  return [account.uuid, account.name, ...filterTexts([data.username])];
}

/** Returns the paths that an event is about, without a final slash. */
export function eventPaths({ data }: ServiceEvent): string[] {
  return filterTexts([data.path, data.real_path, data.destination]).map((path) => (path.endsWith('/') ? path.slice(0, -1) : path));
}

/** Returns the groups of an event's kind. */
export function eventGroups({ id }: Pick<ServiceEvent, 'id'>): readonly EventGroup[] {
  // A newer version of svc may have written events that this version does not know.
  return isEventId(Number(id)) ? eventDefinition(Number(id)).groups : [];
}

type KindOfEvent = Pick<ServiceEvent, 'id'> & Partial<Pick<ServiceEvent, 'data'>>;

/**
 * Finds the outcome in the data of an event, for the kinds whose events differ in their outcome. The catalogue cannot have these outcomes,
 * because its groups are the same for all events of a kind.
 */
const outcomesInData: Readonly<Record<string, (data: ServiceEvent['data']) => EventGroup[]>> = {
  [eventIds.administratorLogin]: ({ outcome }) => (outcome === 'refused' ? ['failure'] : []),
  [eventIds.componentStopped]: ({ reason }) => [String(reason).startsWith('paused by ') ? 'informational' : 'failure'],
};

export const idsWithOutcomeInData = Object.keys(outcomesInData);

/**
 * Returns the groups of an event, which include its outcome. If the outcome is in the event's data, returns only the outcome, or all
 * possible outcomes if `event` has no data.
 */
export function eventOutcomes(event: KindOfEvent): readonly EventGroup[] {
  const known = outcomesInData[event.id];
  if (!known) return eventGroups(event);
  return event.data ? known(event.data) : eventStatuses;
}

/** Number of characters of messages that are compared. */
const comparedCharacters = 200;

/** Returns what messages have in common that differ only in quoted names and in numbers. */
export function messagePattern(message: string): string {
  return message
    .slice(0, comparedCharacters)
    .replace(/"[^"]*"/g, '""')
    .replace(/\d+/g, '0');
}

function filterTexts(values: readonly unknown[]): string[] {
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}

function isAtOrBelow(own: string, wanted: string): boolean {
  return wanted.endsWith('/') ? `${own}/`.startsWith(wanted) : own === wanted;
}

function hasText(value: unknown, text: string): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some((member) => hasText(member, text));
  return String(value).includes(text);
}
