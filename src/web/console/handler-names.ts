import type { AttemptView } from '../../console/api/schemas/deliveries.ts';
import type { HandlerList } from '../../console/api/schemas/overview.ts';
import { partTexts } from '../shared/locale.ts';
import de from '../texts/handlers/de.json' with { type: 'json' };
import en from '../texts/handlers/en.json' with { type: 'json' };
import es from '../texts/handlers/es.json' with { type: 'json' };
import fr from '../texts/handlers/fr.json' with { type: 'json' };
import { choice } from './fields.ts';
import { text } from './language.ts';
import { ask } from './request.ts';
import { clear } from './shown.ts';

/** Returns a text of the pages of handlers, deliveries and replays. */
export const handlerText = partTexts<keyof typeof en>({ en, de, es, fr });

const names = new Map<string, string>();
let known: HandlerList['handlers'] | undefined;

/**
 * Says in the language of the page why a delivery, an inspection or an authentication method failed.
 *
 * @param message the service's own words, for a reason without a code, or with the code of a newer version
 */
export function faultText(fault: AttemptView['fault'] | null, message: string): string {
  const key = fault && (`fault_${fault.code}` as const);
  return key && Object.hasOwn(en, key) ? handlerText(key, { value: fault.value }) : message;
}

/** Fetches the handlers, and stores their names for `handlerName`. */
export async function findHandlers(signal?: AbortSignal): Promise<HandlerList> {
  const found = await ask<HandlerList>('GET', '/api/handlers', { signal });
  known = found.handlers;
  for (const { uuid, name } of known) names.set(uuid, name);
  return found;
}

/** Returns the handlers for a choice. Those that were fetched before are returned at once, and fetched again for the next time. */
export async function handlersToChoose(signal: AbortSignal): Promise<HandlerList['handlers']> {
  if (!known) return (await findHandlers(signal)).handlers;
  // The choice works without the news, and the list beside it reports that the server cannot be reached.
  findHandlers(signal).catch(() => {});
  return known;
}

/** Returns the name of a handler for display; its UUID if it has no name. */
export function handlerName(uuid: string): string {
  return clear(names.get(uuid) || uuid);
}

export function handlerChoice(handlers: readonly { uuid: string }[]): HTMLSelectElement {
  return choice('handler', [['', text('allHandlers')], ...handlers.map(({ uuid }) => [uuid, handlerName(uuid)] as const)]);
}
