import * as z from 'zod';
import { ServiceError } from './errors.ts';
import { compileExpression } from './expression.ts';
import { isHeaderName, isHeaderValue } from './headers/header-fields.ts';
import { parseList } from './list-values.ts';

/**
 * The types of options. Each type accepts the text form and the natural YAML form (docs/spec/configuration.md#forms-of-values), and returns
 * one normalised value. Options share schemas, because the creation of a schema takes time at every start.
 */

/** A text that is not empty and contains neither `/` nor `|`. */
export const uuidText = z
  .string()
  .min(1, 'must not be empty')
  .regex(/^[^/|]+$/, 'must not contain "/" or "|"');

const yesOrNo = z
  .union([z.boolean(), z.enum(['yes', 'no', 'true', 'false', 'on', 'off', '1', '0'])], { error: 'must be yes or no' })
  .transform((value) => (typeof value === 'boolean' ? value : ['yes', 'true', 'on', '1'].includes(value)));

/** A boolean, or one of `yes`/`no`, `true`/`false`, `on`/`off`, `1`/`0`. */
export function yesNo() {
  return yesOrNo;
}

const numberOrText = [
  z.number(),
  z
    .string()
    .regex(/^\s*-?\d+(\.\d+)?\s*$/)
    .transform(Number),
] as const;

/** A number, or a number as text. `minimum` and `maximum` are inclusive. */
export function number(minimum: number, maximum: number) {
  const range = `must be a number from ${minimum} to ${maximum}`;
  return z.union(numberOrText, { error: range }).refine((value) => value >= minimum && value <= maximum, range);
}

const secondsOfUnit = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** A time in seconds, or a text such as `30s`, `10m`, `8h` or `3d`. @param maximum maximum in seconds */
export function duration(maximum: number) {
  const message = `must be seconds, or a time such as 30s, 10m, 8h or 3d; from 0 to ${maximum} s`;
  return z.union([z.number(), z.string()], { error: message }).transform((value, context) => {
    const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)([smhd])?$/.exec(String(value).trim()) ?? [];
    const seconds = amount === undefined ? Number.NaN : Number(amount) * secondsOfUnit[unit as keyof typeof secondsOfUnit];
    if (!(seconds >= 0 && seconds <= maximum)) context.addIssue({ code: 'custom', message });
    return seconds;
  });
}

/** A whole number, or a whole number as text. */
export function integer(minimum: number, maximum: number) {
  return number(minimum, maximum).refine(Number.isInteger, 'must be a whole number');
}

/** Maximum size in bytes that options accept. A double can represent all integers up to this size exactly. */
export const largestSizeBytes = Number.MAX_SAFE_INTEGER;

const scalarText = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)]);

/** Runs `read`. A `ServiceError` from it becomes an issue of the option. @returns undefined in that case */
export function readOrIssue<T>(context: z.core.$RefinementCtx, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    context.addIssue({ code: 'custom', message: error.message });
    return undefined;
  }
}

const texts = z
  .union([scalarText, z.array(scalarText), z.null()], { error: 'must be a list, or a comma-separated text' })
  .transform((value, context) => {
    if (value === null) return [];
    if (Array.isArray(value)) return value.filter((item) => item !== '');
    const items = readOrIssue(context, () => value.split('\n').flatMap((line) => parseList(line)));
    return items?.filter((item) => item !== '') ?? z.NEVER;
  });

/** A comma-separated list (with the quoting of RFC 4180), or a list of texts. Empty items are dropped. */
export function textList() {
  return texts;
}

/** Lines of a text, or a list of texts. Empty lines are dropped. */
export function lineList() {
  return z
    .union([scalarText, z.array(scalarText), z.null()], { error: 'must be a list, or a text with one item per line' })
    .transform((value) => {
      if (value === null) return [];
      const lines = Array.isArray(value) ? value : value.split('\n');
      return lines.map((line) => line.trim()).filter((line) => line !== '');
    });
}

/**
 * Headers as `Name: value`, as several such lines, as a list of such lines, or as a map. The result is a list of `[name, value]` pairs in
 * the same order.
 */
export function headerLines() {
  return z
    .union([z.string(), z.array(z.string()), z.record(z.string(), scalarText), z.null()], {
      error: 'must be "Name: value" lines, or a map',
    })
    .transform((value, context): [string, string][] => {
      const pairs = splitHeaders(value);
      for (const [index, [name, text]] of pairs.entries()) {
        if (text === undefined) context.addIssue({ code: 'custom', message: 'each line must be "Name: value"' });
        // The name is not shown, because it may be a part of a secret.
        else if (!isHeaderName(name))
          context.addIssue({ code: 'custom', message: `the text before ":" in header ${index + 1} is not a header name` });
        else if (!isHeaderValue(text))
          context.addIssue({ code: 'custom', message: `the value of "${name}" has characters that a header must not have` });
      }
      return pairs.map(([name, text]) => [name, text ?? '']);
    });
}

function splitHeaders(value: string | string[] | Record<string, string> | null): [string, string | undefined][] {
  if (value === null) return [];
  if (typeof value === 'object' && !Array.isArray(value)) return Object.entries(value).map(([name, text]) => [name.trim(), text.trim()]);
  const lines = Array.isArray(value) ? value : value.split('\n');
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? ['', undefined] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    });
}

// The service itself sets the headers for the connection and for framing (RFC 9110 §7.6.1, RFC 9112 §6).
const framingHeaders = new Set(['connection', 'content-length', 'expect', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade']);

/** Headers for requests to a remote endpoint. */
export function requestHeaderLines() {
  return headerLines().superRefine((headers, context) => {
    for (const [name] of headers) {
      if (framingHeaders.has(name.toLowerCase()))
        context.addIssue({ code: 'custom', message: `"${name}" cannot be set: it belongs to the connection` });
    }
  });
}

/** Header names, as a comma-separated text or as a list. */
export function headerNames() {
  return textList().refine((names) => names.every(isHeaderName), 'must be header names');
}

/** A list of items to include or exclude: `a, b` or `!a, !b`. */
export interface Filter<T> {
  include: T[];
  exclude: T[];
}

const filter = texts.transform(
  (items): Filter<string> => ({
    include: items.filter((item) => !item.startsWith('!')),
    exclude: items.filter((item) => item.startsWith('!')).map((item) => item.slice(1).trim()),
  }),
);

/** A list in which `!` before an item excludes it. */
export function filterList() {
  return filter;
}

/** The text of a valid expression (docs/spec/authentication.md#expressions). */
export function expressionText() {
  return z.string().superRefine((text, context) => void readOrIssue(context, () => compileExpression(text)));
}

/**
 * One or more http or https URLs, as a comma-separated text or as a list. URLs with credentials are refused, because logs would show them.
 */
export function urlList() {
  return textList().superRefine((urls, context) => {
    if (urls.length === 0) context.addIssue({ code: 'custom', message: 'must name at least one URL' });
    for (const text of urls) {
      const url = URL.canParse(text) ? new URL(text) : undefined;
      if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
        context.addIssue({ code: 'custom', message: 'must be an http:// or https:// URL' });
      } else if (url.username !== '' || url.password !== '') {
        context.addIssue({ code: 'custom', message: 'must not contain a user name or password; use "username" and "password"' });
      }
    }
  });
}

/** Origins, which consist of scheme, host and port, as a comma-separated text or as a list. */
export function originList() {
  return textList().superRefine((items, context) => {
    for (const item of items) {
      if (!URL.canParse(item) || new URL(item).origin !== item)
        context.addIssue({ code: 'custom', message: `"${item}" must be an origin such as https://files.example.com` });
    }
  });
}

const textOrNothing = z.union([scalarText, z.null()]).transform((value) => value ?? '');

/** A text. Null and a missing value mean an empty text. */
export function optionalText() {
  return textOrNothing;
}
