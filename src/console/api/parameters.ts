import { eventGroups } from '../../events/catalogue.ts';
import { eventIds } from '../../events/event-ids.ts';
import { type LogPosition, parsePosition } from '../../events/journal/position.ts';
import { type EventSelection, eventStatuses, messagePattern } from '../../events/journal/search/event-selection.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ConsoleContext } from '../environment.ts';

/** The names of the members of an event filter. */
export const selectionNames = [
  'since',
  'until',
  'id',
  'not_id',
  'group',
  'status',
  'account',
  'path',
  'address',
  'request_id',
  'component',
  'message',
  'text',
];

const maxItemsPerMember = 1000;

/** Reads an event filter. @throws ServiceError `bad-request` */
export function readEventSelection(parameters: Parameters): EventSelection {
  const [since, until] = [parameters.timeMs('since'), parameters.timeMs('until')];
  const ids = (name: string) =>
    (parameters.codes(name, maxItemsPerMember) ?? []).map((item) => {
      if (!/^\d{1,6}$/.test(item)) throw badRequest(`"${name}" must be IDs of events, such as ${eventIds.fileUploaded}.`);
      return Number(item);
    });
  const list = (name: string) => parameters.texts(name, maxItemsPerMember) ?? [];
  const text = parameters.text('text');
  return {
    id: ids('id'),
    exceptId: ids('not_id'),
    uuid: [],
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    group: parameters.oneOf('group', eventGroups) ?? [],
    status: parameters.oneOf('status', eventStatuses) ?? [],
    account: list('account'),
    path: list('path'),
    address: list('address'),
    requestId: list('request_id'),
    component: list('component'),
    message: list('message')?.map(messagePattern),
    ...(text !== undefined && { text }),
  };
}

/**
 * Reads the parameters of a query, or the members of a JSON body. Unknown names are refused: if a mistyped filter were ignored, the request
 * would do more than was intended.
 */
export class Parameters {
  readonly #values: Readonly<Record<string, unknown>>;

  /** @throws ServiceError `bad-request` for an unknown name */
  constructor(values: Readonly<Record<string, unknown>>, known: readonly string[]) {
    this.#values = values;
    for (const name of Object.keys(values))
      if (!known.includes(name)) throw badRequest(`"${name}" is not known here; known: ${known.join(', ')}.`);
  }

  static fromQuery(query: URLSearchParams, known: readonly string[]): Parameters {
    return new Parameters(Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)])), known);
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    const [first, ...others] = Array.isArray(value) ? value : [value];
    if (first === undefined) return undefined;
    if (typeof first !== 'string' || others.length > 0) throw badRequest(`"${name}" must be a single string.`);
    return first;
  }

  /** Returns texts that may contain commas, such as names and paths. */
  texts(name: string, max: number): string[] | undefined {
    return this.#items(name, max, (text) => [text]);
  }

  /**
   * Returns texts that never contain commas. Clients send them separately, or as one comma-separated text.
   *
   * @throws ServiceError `bad-request`
   */
  codes(name: string, max: number): string[] | undefined {
    return this.#items(name, max, (text) => text.split(',').map((code) => code.trim()));
  }

  #items(name: string, max: number, split: (text: string) => string[]): string[] | undefined {
    const value = this.#values[name];
    if (value === undefined) return undefined;
    const items = (Array.isArray(value) ? value : [value]).flatMap((item) => {
      if (typeof item !== 'string') throw badRequest(`"${name}" must be a list of strings.`);
      return split(item);
    });
    if (items.length > max) throw badRequest(`"${name}" has more than ${max} items.`);
    return items.filter((item) => item !== '');
  }

  oneOf<T extends string>(name: string, known: readonly T[]): T[] | undefined {
    return this.codes(name, known.length)?.map((text) => {
      const item = known.find((candidate) => candidate === text);
      if (item === undefined) throw badRequest(`"${name}" must be one of ${known.join(', ')}.`);
      return item;
    });
  }

  flag(name: string): boolean {
    const value = this.#values[name] ?? false;
    if (typeof value !== 'boolean') throw badRequest(`"${name}" must be true or false.`);
    return value;
  }

  /** Returns a number in the body of a request; 0 if it is missing. */
  count(name: string, max: number): number {
    const value = this.#values[name] ?? 0;
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > max)
      throw badRequest(`"${name}" must be a number from 0 to ${max}.`);
    return value;
  }

  /** Returns a time, which must be ISO 8601 with an offset. @returns Unix time in milliseconds */
  timeMs(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const timeMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
    if (Number.isNaN(timeMs)) throw badRequest(`"${name}" must be a time such as 2026-01-31T12:00:00Z.`);
    return timeMs;
  }

  position(name: string): LogPosition | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const position = parsePosition(text);
    if (!position) throw badRequest(`"${name}" must be a position in the journal, such as 00000001:12345, as replies contain it.`);
    return position;
  }

  number(name: string, { usual, max }: { usual: number; max: number }): number {
    const text = this.text(name);
    if (text === undefined) return usual;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= 1 && value <= max)) throw badRequest(`"${name}" must be a number from 1 to ${max}.`);
    return value;
  }
}

function badRequest(message: string): ServiceError {
  return new ServiceError('bad-request', message);
}

/** Returns a part of a request's path, by its name in the route. */
export function pathPart(c: ConsoleContext, name: string): string {
  return c.req.param(name) ?? '';
}
