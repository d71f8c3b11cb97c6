import { parseHttpDate } from '../lib/headers/http-dates.ts';
import { isObject } from '../lib/json.ts';
import type { EventHandlerOptions } from './options.ts';

/** A delivery that waits for its next request. It is stored, so that another owner of the handler can continue it. */
export interface WaitingRetry {
  /** UUID of the first event of the request. */
  event: string;
  /** Time of the first request, Unix time in milliseconds. */
  sinceMs: number;
  /** Time at which the next request is due, Unix time in milliseconds. */
  dueMs: number;
  /** Number of failures so far at the URL that is being tried. */
  failures: number;
  /** Index of that URL in the handler's `url` list. */
  urlIndex: number;
}

/** Parses stored deliveries that wait. A delivery that cannot be read is left out, and starts again. */
export function readWaiting(value: unknown): WaitingRetry[] {
  const isWaiting = (item: unknown): item is WaitingRetry =>
    isObject(item) &&
    typeof item.event === 'string' &&
    [item.sinceMs, item.dueMs, item.failures, item.urlIndex].every((number) => typeof number === 'number');
  return Array.isArray(value) ? value.filter(isWaiting) : [];
}

export type RetryOptions = Pick<
  EventHandlerOptions,
  'retry_count' | 'retry_increase' | 'retry_backoff' | 'retry_maximum_wait' | 'retry_for'
>;

/** Maximum wait that a receiver can request, in milliseconds. */
export const longestWaitMs = 86_400_000;

/** Minimum pause in seconds with `retry_for`. Without this minimum, requests to a receiver that is down could follow without a pause. */
const leastIncreaseS = 1;

/**
 * Returns the wait before a retry.
 *
 * @param failures number of failures so far at the URL, at least 1
 * @param isBackground whether the delivery is made in the background; only then does `retry_for` apply
 * @param random returns a number from 0 to below 1, for the jitter of exponential waits
 * @returns milliseconds; undefined if there is no further retry
 */
export function retryWaitMs(options: RetryOptions, failures: number, isBackground: boolean, random: () => number): number | undefined {
  const { retry_count, retry_increase, retry_backoff, retry_maximum_wait } = options;
  const isTimed = isBackground && options.retry_for > 0;
  const limit = retry_count > 0 || !isTimed ? retry_count : Number.POSITIVE_INFINITY;
  if (failures > limit) return undefined;
  const increaseS = isTimed ? Math.max(retry_increase, leastIncreaseS) : retry_increase;
  if (retry_backoff === 'linear') return failures * increaseS * 1000;
  return random() * longestExponentialS(increaseS, retry_maximum_wait, failures) * 1000;
}

function longestExponentialS(increaseS: number, maximumS: number, failures: number): number {
  return Math.min(maximumS, increaseS * 2 ** (failures - 1));
}

/** Returns the maximum total wait at one URL in seconds, for a delivery for which an upload waits. */
export function longestWaitsS({ retry_count, retry_increase, retry_backoff, retry_maximum_wait }: RetryOptions): number {
  let seconds = 0;
  for (let failures = 1; failures <= retry_count; failures++)
    seconds += retry_backoff === 'linear' ? failures * retry_increase : longestExponentialS(retry_increase, retry_maximum_wait, failures);
  return seconds;
}

/**
 * Returns the wait that a receiver requests with `Retry-After` (RFC 9110 §10.2.3).
 *
 * @returns milliseconds, at most a day; undefined if the header is missing or malformed
 */
export function askedWaitMs(headers: readonly (readonly [string, string])[], nowMs: number): number | undefined {
  const text = headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1].trim();
  if (text === undefined) return undefined;
  const untilMs = /^\d+$/.test(text) ? nowMs + Number(text) * 1000 : parseHttpDate(text);
  return untilMs === undefined ? undefined : Math.min(Math.max(untilMs - nowMs, 0), longestWaitMs);
}
