import type { EventKinds } from '../../console/api/schemas/events.ts';
import { make } from '../shared/dom.ts';
import { ask } from './request.ts';
import { badge } from './section.ts';
import { clear } from './shown.ts';

type Kind = EventKinds['events'][number];

let kinds: ReadonlyMap<string, Kind> | undefined;

/** Fetches the kinds of events, unless they are already known. If that fails, events show only their numbers. */
export async function findEventKinds(): Promise<void> {
  if (kinds) return;
  const found = await ask<EventKinds>('GET', '/api/events/catalogue').catch(() => undefined);
  if (found) kinds = new Map(found.events.map((kind) => [kind.id, kind]));
}

/** Returns all kinds in the order in which the API lists them; none if they could not be fetched. */
export function eventKinds(): readonly Kind[] {
  return [...(kinds?.values() ?? [])];
}

export function eventKind(id: string): Kind | undefined {
  return kinds?.get(id);
}

const colours = { error: 'bad', warning: 'warn', success: 'good', information: 'calm' } as const;

/** Shows the number of a kind of event in the colour of its severity. */
export function eventBadge(id: string): HTMLElement {
  const kind = kinds?.get(id);
  const element = badge(id, kind ? colours[kind.severity] : 'calm');
  if (kind) element.title = clear(kind.name);
  return element;
}

/** Shows the number and the name of a kind of event. */
export function namedEvent(id: string): HTMLElement {
  const kind = kinds?.get(id);
  return make('span.badges', eventBadge(id), kind && make('span.event-name', { title: clear(kind.name) }, clear(kind.name)));
}
