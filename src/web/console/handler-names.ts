import type { HandlerList } from '../../console/api/schemas/overview.ts';
import { choice } from './fields.ts';
import { text } from './language.ts';
import { ask } from './request.ts';
import { clear } from './shown.ts';

const names = new Map<string, string>();

/** Fetches the handlers, and stores their names for `handlerName`. */
export async function findHandlers(signal?: AbortSignal): Promise<HandlerList> {
  const found = await ask<HandlerList>('GET', '/api/handlers', { signal });
  for (const { uuid, name } of found.handlers) names.set(uuid, name);
  return found;
}

/** Returns the name of a handler for display; its UUID if it has no name. */
export function handlerName(uuid: string): string {
  return clear(names.get(uuid) || uuid);
}

export function handlerChoice(handlers: readonly { uuid: string }[]): HTMLSelectElement {
  return choice('handler', [['', text('allHandlers')], ...handlers.map(({ uuid }) => [uuid, handlerName(uuid)] as const)]);
}
