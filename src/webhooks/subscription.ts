import { type EventDefinition, eventCatalogue } from '../events/catalogue.ts';
import type { ServiceEvent } from '../events/event.ts';
import { arrivalIds, eventIds } from '../events/event-ids.ts';
import { eventVariable } from '../events/variables.ts';
import { compileAddressRanges } from '../lib/address-ranges.ts';
import { compileExpression } from '../lib/expression.ts';
import type { Filter } from '../lib/option-types.ts';
import type { DataRule } from './common-options.ts';
import type { EventHandlerOptions } from './options.ts';

const deliveryEvents = new Set(
  [eventIds.deliveryFailed, eventIds.eventDelivered, eventIds.fileForwarded, eventIds.urlSuspended].map(String),
);

/** Decides whether a handler wants an event. `group` is the group of the event's account. */
export type Subscription = (event: ServiceEvent, group: string | undefined) => boolean;

export type SubscriptionOptions = Pick<
  EventHandlerOptions,
  'target' | 'groups' | 'usernames' | 'user_groups' | 'components' | 'source_addresses' | 'data_filter'
> &
  Partial<Pick<EventHandlerOptions, 'type'>>;

/** Compiles the filters of a handler. An event must pass all of them (docs/spec/delivery.md#subscription). */
export function createSubscription(handlerUuid: string, options: SubscriptionOptions): Subscription {
  const ids = new Set(wantedEvents(options).map(({ id }) => String(id)));
  const tests: Subscription[] = [];
  const add = (filter: Filter<string>, read: (event: ServiceEvent, group: string | undefined) => string, matcher = textMatcher) => {
    if (filter.include.length === 0 && filter.exclude.length === 0) return;
    const [included, excluded] = [matcher(filter.include), matcher(filter.exclude)];
    tests.push((event, group) => {
      const text = read(event, group);
      return (filter.include.length === 0 || included(text)) && !excluded(text);
    });
  };
  add(options.usernames, (event) => event.account.name);
  add(options.user_groups, (_, group) => group ?? '');
  add(options.components, (event) => event.component.uuid);
  add(options.source_addresses, (event) => event.account.peer.address, compileAddressRanges);
  tests.push(...options.data_filter.map(dataTest));
  return (event, group) =>
    ids.has(event.id) && !isOwnOrNested(event, handlerUuid) && !isTest(event) && tests.every((test) => test(event, group));
}

/**
 * Returns the kinds of events that pass `target` and `groups` of a handler. A handler of type `forward` wants only events of finished
 * files.
 */
export function wantedEvents(options: Pick<SubscriptionOptions, 'target' | 'groups' | 'type'>): EventDefinition[] {
  const isWanted = ({ id }: EventDefinition) => options.type !== 'forward' || arrivalIds.includes(id);
  return eventCatalogue.filter((definition) => isWanted(definition) && isTarget(definition, options));
}

/** Whether an event is about a delivery. */
export function isDeliveryEvent(event: Pick<ServiceEvent, 'id'>): boolean {
  return deliveryEvents.has(event.id);
}

// A handler does not get events about its own deliveries (docs/spec/delivery.md#events-about-deliveries). If an event about a delivery
// cannot be delivered, this causes another such event, which no handler gets. Otherwise two handlers with failing receivers would cause
// events for each other without end.
function isOwnOrNested(event: ServiceEvent, handlerUuid: string): boolean {
  return isDeliveryEvent(event) && (event.data.uuid === handlerUuid || deliveryEvents.has(String(event.data.event_id)));
}

// A test event was already sent to its handler, so it is not delivered in the background.
function isTest({ id, data }: ServiceEvent): boolean {
  return id === String(eventIds.testEventSent) && data.administrator !== undefined;
}

function isTarget({ id, groups }: EventDefinition, options: Pick<SubscriptionOptions, 'target' | 'groups'>): boolean {
  const isIn = <T>(filter: Filter<T>, includes: (item: T) => boolean) =>
    (filter.include.length === 0 || filter.include.some(includes)) && !filter.exclude.some(includes);
  return isIn(options.target, (item) => item === id) && isIn(options.groups, (item) => groups.some((group) => group === item));
}

/** Creates a test for names. A name with `*` or `?` is a glob; other names must match exactly. */
function textMatcher(items: readonly string[]): (text: string) => boolean {
  const names = new Set(items);
  const globs = items.filter((item) => /[*?]/.test(item)).map((item) => compileExpression(`g/${item}/`));
  return (text) => names.has(text) || globs.some((glob) => glob.matches(text));
}

/** Creates the test for a rule on `data`. If the member is missing, only a negated expression passes. */
export function dataTest({ name, expression }: DataRule): Subscription {
  const { matches } = compileExpression(expression);
  const isNegated = expression.trimStart().startsWith('!');
  return (event) => {
    const value = eventVariable(event, `data.${name}`);
    return value === undefined ? isNegated : matches(value);
  };
}
