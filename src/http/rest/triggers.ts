import type { CustomTrigger } from '../options.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';

/** The custom triggers that the client's group may run, in configured order (service option `triggers`). */
export function triggersOf(exchange: Exchange): CustomTrigger[] {
  const { groupUuid } = clientOf(exchange).account;
  return exchange.service.options.triggers.filter((trigger) => trigger.groups.length === 0 || trigger.groups.includes(groupUuid));
}

/** A trigger by its exact name, if the client may run it. */
export function findTrigger(exchange: Exchange, name: string): CustomTrigger | undefined {
  return triggersOf(exchange).find((trigger) => trigger.name === name);
}
