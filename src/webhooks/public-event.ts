import type { ServiceEvent } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import { isObject } from '../lib/json.ts';
import type { OutgoingEvent } from './payload/payload.ts';

/** A 403 of the authentication endpoint: its body stands in `data.response`. */
const forbiddenEvent = String(eventIds.authenticationForbidden);

/**
 * An event as receivers may see it: `code` and `extra` of a 403 stand in the journal alone
 * (docs/spec/authentication.md#refusal-by-the-endpoint).
 */
export function publicEvent<T extends OutgoingEvent>(outgoing: T): T {
  const { event } = outgoing;
  if (event.id !== forbiddenEvent) return outgoing;
  const { response, ...data } = event.data;
  const shown = publicResponse(response);
  const shownEvent: ServiceEvent = { ...event, data: shown === undefined ? data : { ...data, response: shown } };
  return { ...outgoing, event: shownEvent, raw: Buffer.from(JSON.stringify(shownEvent)) };
}

function publicResponse(response: unknown): unknown {
  // A text that was to be JSON may hold both, in a form that nobody can tell.
  if (typeof response === 'string') return /^[[{]/.test(response) ? undefined : response;
  if (!isObject(response)) return undefined;
  const { code: _code, extra: _extra, ...members } = response;
  return members;
}
