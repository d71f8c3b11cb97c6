import * as z from 'zod';
import { attempt, deliveryOutcome, sentEvent } from '../../webhooks/records/delivery-record-schema.ts';
import type { Delivered, WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { complain, count, paint, print, visible } from '../output.ts';

/** Options for lines that are not a valid event. */
export interface MalformedOptions {
  /** Ends the run at the first malformed line. */
  strict?: boolean;
  /** Skips malformed lines without failing the run. */
  skipMalformed?: boolean;
}

/** Thrown by `BadLines.add` to stop reading; `unlessEnded` catches it. */
class RunEnded extends Error {}

/**
 * Reports and counts malformed lines. They make the run fail, unless `skipMalformed` is set. With `strict`, the first malformed line ends
 * the run.
 */
export class BadLines {
  readonly #options: MalformedOptions;
  count = 0;
  #hasEnded = false;

  constructor(options: MalformedOptions) {
    this.#options = options;
  }

  get isFailure(): boolean {
    return this.count > 0 && !this.#options.skipMalformed;
  }

  /** The number of malformed lines as text, for example `2 malformed lines skipped`. */
  get summary(): string {
    return `${count(this.count, 'malformed line')} ${this.#hasEnded ? 'ended the run' : 'skipped'}`;
  }

  add(place: string, reason: string): void {
    this.count++;
    this.#hasEnded = this.#options.strict ?? false;
    complain(`${visible(place)}: ${visible(reason)}; ${this.#hasEnded ? 'the run ends' : 'skipped'}`);
    if (this.#hasEnded) throw new RunEnded();
  }

  /** Reports that a well-formed line names something that no longer exists. This does not make the run fail. */
  missing(place: string, reason: string): void {
    complain(`${visible(place)}: ${visible(reason)}; skipped`);
  }

  /** Waits for a run. @returns undefined if a malformed line ended the run */
  async unlessEnded<T>(run: Promise<T>): Promise<T | undefined> {
    try {
      return await run;
    } catch (error) {
      if (error instanceof RunEnded) return undefined;
      throw error;
    }
  }
}

/** Minimum time between two updates of the progress line, in milliseconds. */
const drawEveryMs = 100;

export const replayedDelivery = z.strictObject({
  handler: z.string(),
  outcome: deliveryOutcome,
  events: z.array(sentEvent),
  url: z.string().optional(),
  status: z.int().optional(),
  details: z.string().optional(),
  attempts: z.array(attempt),
});

/** Prints the deliveries that failed (with `--json`, all deliveries), the progress of a replay, and the totals. */
export class ReplayReport {
  readonly #isJson: boolean;
  readonly #showsProgress: boolean;
  readonly #counts = { delivered: 0, failed: 0, discarded: 0 };
  #events = 0;
  #requests = 0;
  #drawnAtMs = 0;

  constructor(isJson: boolean) {
    this.#isJson = isJson;
    this.#showsProgress = process.stderr.isTTY === true;
  }

  get failures(): number {
    return this.#counts.failed + this.#counts.discarded;
  }

  get requests(): number {
    return this.#requests;
  }

  delivered(handler: WebhookHandler, { events, result }: Delivered): void {
    this.#counts[result.outcome]++;
    this.#requests++;
    this.#events += events.length;
    const last = result.attempts.at(-1);
    const line: z.infer<typeof replayedDelivery> = {
      handler: handler.uuid,
      outcome: result.outcome,
      events: events.map(({ event }) => ({ id: event.id, uuid: event.uuid })),
      url: last?.url,
      status: result.status,
      details: result.details,
      attempts: result.attempts,
    };
    if (this.#isJson) print(JSON.stringify(line));
    else if (result.outcome !== 'delivered') {
      this.#clear();
      const [first, ...others] = events;
      const what = `${visible(`${first?.event.id} ${first?.event.uuid}`)}${others.length > 0 ? ` and ${count(others.length, 'more event')}` : ''}`;
      print(`${handler.uuid}: ${what}: ${paint(process.stdout, 'red', result.outcome)}: ${visible(result.details)}`);
    }
    this.#draw();
  }

  /** Clears the progress line and prints the totals. */
  finish(bad: BadLines): void {
    this.#clear();
    const { delivered, failed, discarded } = this.#counts;
    const rest = [
      ...(failed > 0 ? [`${failed} failed`] : []),
      ...(discarded > 0 ? [`${discarded} discarded`] : []),
      ...(bad.count > 0 ? [bad.summary] : []),
    ];
    const text = `${count(this.#events, 'event')} in ${count(this.#requests, 'request')}: ${[`${delivered} delivered`, ...rest].join(', ')}`;
    if (this.#isJson) complain(text);
    else print(text);
  }

  #draw(): void {
    if (!this.#showsProgress) return;
    const nowMs = performance.now();
    if (nowMs - this.#drawnAtMs < drawEveryMs) return;
    this.#drawnAtMs = nowMs;
    const { delivered } = this.#counts;
    process.stderr.write(`\r\u001b[K${count(this.#events, 'event')} sent, ${delivered} delivered, ${this.failures} not`);
  }

  #clear(): void {
    if (this.#showsProgress && this.#drawnAtMs > 0) process.stderr.write('\r\u001b[K');
  }
}
