import type { EventKinds } from '../../console/api/schemas/events.ts';
import type { Overview } from '../../console/api/schemas/overview.ts';
import { make } from '../shared/dom.ts';
import { fillTemplate, makeTemplate, type Template, text } from './language.ts';
import { ask } from './request.ts';
import { badge } from './section.ts';
import { ageElement, ageInPhrase, clear } from './shown.ts';

type EventData = Readonly<Record<string, unknown>>;

/** `name` is in the language of the page. */
type Kind = EventKinds['events'][number] & { english: string };

let kinds: ReadonlyMap<string, Kind> | undefined;

type Texts = () => Promise<{ default: Readonly<Record<string, string>> }>;

/** The names of the kinds by number. They are not among the other texts, because the login does not need them. */
const translations: Readonly<Record<string, Texts>> = {
  de: () => import('../texts/events/de.json', { with: { type: 'json' } }),
  es: () => import('../texts/events/es.json', { with: { type: 'json' } }),
  fr: () => import('../texts/events/fr.json', { with: { type: 'json' } }),
};

/** The messages of the kinds by number, and frequent reasons by their English words. */
const messageTexts: Readonly<Record<string, Texts>> = {
  de: () => import('../texts/messages/de.json', { with: { type: 'json' } }),
  es: () => import('../texts/messages/es.json', { with: { type: 'json' } }),
  fr: () => import('../texts/messages/fr.json', { with: { type: 'json' } }),
};

const messages = new Map<string, Template>();
const reasons: Template[] = [];

function keepMessages(texts: Readonly<Record<string, string>>): void {
  for (const [key, translated] of Object.entries(texts)) {
    const kind = kinds?.get(key);
    if (kind) messages.set(key, makeTemplate(kind.message, translated));
    else reasons.push(makeTemplate(key, translated));
  }
}

/** Fetches the kinds of events, unless they are already known. If that fails, events show only their numbers. */
export async function findEventKinds(): Promise<void> {
  if (kinds) return;
  const { lang } = document.documentElement;
  const [found, names, texts] = await Promise.all([
    ask<EventKinds>('GET', '/api/events/catalogue').catch(() => undefined),
    translations[lang]?.().catch(() => undefined),
    messageTexts[lang]?.().catch(() => undefined),
  ]);
  if (!found) return;
  kinds = new Map(found.events.map((kind) => [kind.id, { ...kind, name: names?.default[kind.id] ?? kind.name, english: kind.name }]));
  if (texts) keepMessages(texts.default);
}

/** Returns the message of an event in the language of the page. A message or reason without a translation stays in English. */
export function eventMessage({ id, message }: { id: string; message: string }): string {
  return fillTemplate(messages.get(id), message, reasons) ?? message;
}

/** Returns all kinds in the order in which the API lists them; none if they could not be fetched. */
export function eventKinds(): readonly Kind[] {
  return [...(kinds?.values() ?? [])];
}

export function eventKind(id: string): Kind | undefined {
  return kinds?.get(id);
}

const colours = { error: 'bad', warning: 'warn', success: 'good', information: 'calm' } as const;

/** Returns the severity of events whose kind does not decide it: refused logins of administrators (20190), and pauses (20157). */
function severityInData(id: string, { outcome, reason }: EventData): keyof typeof colours | undefined {
  if (id === '20190' && outcome === 'refused') return 'warning';
  return id === '20157' && `${reason}`.startsWith('paused by ') ? 'information' : undefined;
}

/** Shows the number of a kind of event in the colour of its severity. @param data the data of the event, if they are known */
export function eventBadge(id: string, data: EventData = {}): HTMLElement {
  const kind = kinds?.get(id);
  const element = badge(id, colours[severityInData(id, data) ?? kind?.severity ?? 'information']);
  if (kind) element.title = clear(kind.name);
  return element;
}

/** Shows the number and the name of a kind of event. @param data the data of the event, if they are known */
export function namedEvent(id: string, data?: EventData): HTMLElement {
  const kind = kinds?.get(id);
  return make('span.badges', eventBadge(id, data), kind && make('span.event-name', { title: clear(kind.name) }, clear(kind.name)));
}

type ErrorKind = Overview['errors'][number];

/** Errors as the overview lists them. If a component stopped, `failures` are the failed deliveries that led to it. */
export type Incident = ErrorKind & { failures: readonly ErrorKind[] };

/** A delivery that was under way when its handler stopped fails this many milliseconds later, at the latest. */
const endsWithinMs = 5000;

/** Joins the events of a component that stopped, so that one incident is one row. @param errors the newest first */
export function incidents(errors: readonly ErrorKind[]): Incident[] {
  return errors.flatMap((error) => {
    const own = errors.filter(({ component }) => component !== '' && component === error.component);
    // Event 20157 has the reason, in contrast to 20066.
    const stop = own.find(({ id }) => id === '20157') ?? own.find(({ id }) => id === '20066');
    const until = stop ? Date.parse(stop.time) + endsWithinMs : 0;
    const failures = own.filter(({ id, time }) => id === '20174' && Date.parse(time) <= until);
    if (error === stop) return [{ ...error, failures }];
    const isJoined = stop && (failures.includes(error) || error.id === '20066' || error.id === '20157');
    return isJoined ? [] : [{ ...error, failures: [] }];
  });
}

/** Returns the number that an incident shows, of errors or of failed deliveries, and the query for exactly these events. */
export function countedEvents({ failures, ...error }: Incident): { count: number; query: URLSearchParams } {
  const counted = failures.length > 0 ? failures : [error];
  const count = counted.reduce((sum, one) => sum + one.count, 0);
  const query = new URLSearchParams({ id: counted[0]?.id ?? error.id });
  if (error.component !== '') query.append('component', error.component);
  for (const { message } of counted) query.append('message', message);
  const [since = ''] = counted.map(({ first }) => first).sort();
  if (since !== '') query.append('since', since);
  return { count, query };
}

/** Shows when an incident was last seen and, if it took longer, when it began. */
export function incidentTimes({ time, first, count }: Incident): HTMLElement {
  const latest = ageElement(time);
  // Errors within a minute are one moment.
  const isLonger = count > 1 && Date.parse(time) - Date.parse(first) >= 60_000 && ageElement(first).textContent !== latest.textContent;
  return make('span', latest, ' ', isLonger && make('span.hint.since', `${text('firstTime')} `, ageInPhrase(first)));
}
