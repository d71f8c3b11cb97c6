import type { HandlerItem } from './api.ts';
import { ask } from './request.ts';
import { clear } from './shown.ts';

const names = new Map<string, string>();

/** The event handlers, and why what other nodes know of them is missing. */
export interface Handlers {
  handlers: HandlerItem[];
  incomplete?: string | undefined;
}

/** The handlers as they are now, whose names are known from here on. */
export async function findHandlers(signal: AbortSignal): Promise<Handlers> {
  const found = await ask<Handlers>('GET', '/api/handlers', { signal });
  for (const { uuid, name } of found.handlers) names.set(uuid, name);
  return found;
}

/** The name of a handler, or else its UUID, for people. */
export function handlerName(uuid: string): string {
  return clear(names.get(uuid) || uuid);
}
