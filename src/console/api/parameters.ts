import { eventGroups } from '../../events/catalogue.ts';
import { eventIds } from '../../events/event-ids.ts';
import { type LogPosition, parsePosition } from '../../events/journal/position.ts';
import type { EventSelection } from '../../events/journal/search/event-selection.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ConsoleContext } from '../environment.ts';

/** The members of a filter of events. */
export const selectionNames = ['since', 'until', 'id', 'group', 'account', 'path', 'address', 'request_id', 'text'];

/** Most items of one member. */
const maxItems = 1000;

/** Reads a filter of events. @throws ServiceError `bad-request` */
export function readEventSelection(parameters: Parameters): EventSelection {
  const [since, until] = [parameters.timeMs('since'), parameters.timeMs('until')];
  const id = (parameters.codes('id', maxItems) ?? []).map((item) => {
    if (!/^\d{1,6}$/.test(item)) throw new ServiceError('bad-request', `"id" must be IDs of events, such as ${eventIds.fileUploaded}.`);
    return Number(item);
  });
  const list = (name: string) => parameters.texts(name, maxItems) ?? [];
  const text = parameters.text('text');
  return {
    id,
    uuid: [],
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    group: parameters.oneOf('group', eventGroups) ?? [],
    account: list('account'),
    path: list('path'),
    address: list('address'),
    requestId: list('request_id'),
    ...(text !== undefined && { text }),
  };
}

/** Reads what a request says, and refuses what it should not say: a name that is mistyped must not widen what is done. */
export class Parameters {
  readonly #values: Readonly<Record<string, unknown>>;

  /** @throws ServiceError `bad-request` for a name that is not known */
  constructor(values: Readonly<Record<string, unknown>>, known: readonly string[]) {
    this.#values = values;
    for (const name of Object.keys(values))
      if (!known.includes(name)) throw new ServiceError('bad-request', `"${name}" is not known here; known: ${known.join(', ')}.`);
  }

  /** Those of a query. A name that stands there several times has a list. */
  static fromQuery(query: URLSearchParams, known: readonly string[]): Parameters {
    return new Parameters(Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)])), known);
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    const [first, ...others] = Array.isArray(value) ? value : [value];
    if (first === undefined) return undefined;
    if (typeof first !== 'string' || others.length > 0) throw new ServiceError('bad-request', `"${name}" must be one text.`);
    return first;
  }

  /**
   * Texts as they are: what people name, such as accounts and paths, may have commas.
   *
   * @returns undefined when there are none. @throws ServiceError `bad-request` for more than `most`
   */
  texts(name: string, most: number): string[] | undefined {
    return this.#items(name, most, (text) => [text]);
  }

  /** Texts without commas, which may also stand in one text with commas between them. @returns and throws as `texts` */
  codes(name: string, most: number): string[] | undefined {
    return this.#items(name, most, (text) => text.split(',').map((code) => code.trim()));
  }

  #items(name: string, most: number, itemsOf: (text: string) => string[]): string[] | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    const items = (Array.isArray(value) ? value : [value]).flatMap((item) => {
      if (typeof item !== 'string') throw new ServiceError('bad-request', `"${name}" must be a list of texts.`);
      return itemsOf(item);
    });
    if (items.length > most) throw new ServiceError('bad-request', `"${name}" has more than ${most} items.`);
    return items.filter((item) => item !== '');
  }

  oneOf<T extends string>(name: string, known: readonly T[]): T[] | undefined {
    return this.codes(name, known.length)?.map((text) => {
      const item = known.find((candidate) => candidate === text);
      if (item === undefined) throw new ServiceError('bad-request', `"${name}" must be of ${known.join(', ')}.`);
      return item;
    });
  }

  flag(name: string): boolean {
    const value = this.#values[name] ?? false;
    if (typeof value !== 'boolean') throw new ServiceError('bad-request', `"${name}" must be true or false.`);
    return value;
  }

  /** A time in ISO 8601 with its offset. @returns Unix time in milliseconds */
  timeMs(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const timeMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(timeMs)) throw new ServiceError('bad-request', `"${name}" must be a time such as 2026-01-31T12:00:00Z.`);
    return timeMs;
  }

  /** A place of a journal. */
  place(name: string): LogPosition | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const place = parsePosition(text);
    if (!place) throw new ServiceError('bad-request', `"${name}" must be a place of the journal as replies have it.`);
    return place;
  }

  number(name: string, { usual, most }: { usual: number; most: number }): number {
    const text = this.text(name);
    if (text === undefined) return usual;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= 1 && value <= most)) throw new ServiceError('bad-request', `"${name}" must be a number from 1 to ${most}.`);
    return value;
  }
}

/** A part of the path of a request, by the name that its route gives it. */
export function pathPart(c: ConsoleContext, name: string): string {
  return c.req.param(name) ?? '';
}
