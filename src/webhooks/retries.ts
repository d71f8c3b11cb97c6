import { parseHttpDate } from '../lib/headers/http-dates.ts';
import { isObject } from '../lib/json.ts';
import type { EventHandlerOptions } from './options.ts';

/** A delivery that waits for its next request. It outlives the process: the next owner of the handler continues it. */
export interface WaitingRetry {
  /** UUID of the first event of the request. */
  event: string;
  /** When the first request was made, Unix time in milliseconds. */
  sinceMs: number;
  /** When the next one is due, Unix time in milliseconds. */
  dueMs: number;
  /** Failures so far at the URL that is tried. */
  failures: number;
  /** Which of the handler's URLs that is. */
  urlIndex: number;
}

/** Waiting deliveries, as stored; unreadable ones start again. */
export function readWaiting(value: unknown): WaitingRetry[] {
  const isWaiting = (item: unknown): item is WaitingRetry =>
    isObject(item) &&
    typeof item.event === 'string' &&
    [item.sinceMs, item.dueMs, item.failures, item.urlIndex].every((number) => typeof number === 'number');
  return Array.isArray(value) ? value.filter(isWaiting) : [];
}

/** The options of a handler that decide when a failed request is sent again. */
export type RetryOptions = Pick<
  EventHandlerOptions,
  'retry_count' | 'retry_increase' | 'retry_backoff' | 'retry_maximum_wait' | 'retry_for'
>;

/** Longest wait before a request: receivers cannot ask for more. */
export const longestWaitMs = 86_400_000;

/** With `retry_for` there is always a pause: otherwise a receiver that is down would be asked continuously. */
const leastIncreaseS = 1;

/**
 * The wait before a retry.
 *
 * @param failures so far at the URL, from 1
 * @param isBackground whether `retry_for` counts: nobody waits for the delivery
 * @param random from 0 to below 1, for the jitter of exponential waits
 * @returns milliseconds; undefined when there is no further retry
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

/** Maximum total wait at one URL for a delivery that an upload waits for, in seconds. */
export function longestWaitsS({ retry_count, retry_increase, retry_backoff, retry_maximum_wait }: RetryOptions): number {
  let seconds = 0;
  for (let failures = 1; failures <= retry_count; failures++)
    seconds += retry_backoff === 'linear' ? failures * retry_increase : longestExponentialS(retry_increase, retry_maximum_wait, failures);
  return seconds;
}

/** The wait that `Retry-After` asks for (RFC 9110 §10.2.3). @returns milliseconds, a day at most; undefined for a header that is missing or malformed */
export function askedWaitMs(headers: readonly (readonly [string, string])[], nowMs: number): number | undefined {
  const text = headers.find(([name]) => name.toLowerCase() === 'retry-after')?.[1].trim();
  if (text === undefined) return undefined;
  const untilMs = /^\d+$/.test(text) ? nowMs + Number(text) * 1000 : parseHttpDate(text);
  return untilMs === undefined ? undefined : Math.min(Math.max(untilMs - nowMs, 0), longestWaitMs);
}
