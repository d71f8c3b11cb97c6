import * as z from 'zod';
import { errorCodes, ServiceError } from '../../lib/errors.ts';

/** The forms of the calls that a process takes: arguments and reply, by name. */
type Offer = Readonly<Record<string, readonly [z.ZodTuple, z.ZodType]>>;

type Arguments<T extends Offer, Name extends keyof T> = z.output<T[Name][0]>;
type Reply<T extends Offer, Name extends keyof T> = z.output<T[Name][1]>;

/** The methods behind an offer. */
export type Api<T extends Offer> = { [Name in keyof T]: (...args: Arguments<T, Name>) => Reply<T, Name> | Promise<Reply<T, Name>> };

const call = z.tuple([z.literal('call'), z.int(), z.string(), z.unknown()]);
const done = z.tuple([z.literal('done'), z.int(), z.unknown()]);
// A fault without a code was no `ServiceError`.
const fault = z.strictObject({ code: z.enum(errorCodes).optional(), message: z.string().transform((text) => text.slice(0, 10_000)) });
const message = z.union([call, done, z.tuple([z.literal('failed'), z.int(), fault])]);

interface Waiting {
  form: z.ZodType;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** Counts the calls to all processes: the reply of one never fits a call to another. */
let lastId = 0;

/**
 * Calls between supervisor and node by messages of their processes. All that the other process sends is validated here: what does not fit the
 * offers, or replies to nothing, is ignored and told once.
 */
export class Calls<Own extends Offer, Theirs extends Offer> {
  readonly #own: Own;
  readonly #api: Api<Own>;
  readonly #theirs: Theirs;
  readonly #send: (message: unknown) => void;
  #onIgnored: () => void;
  readonly #waiting = new Map<number, Waiting>();
  #end: string | undefined;

  /** @param send gives a message to the other process, which hands it to `receive` */
  constructor([own, api]: [Own, Api<Own>], theirs: Theirs, send: (message: unknown) => void, onIgnored: () => void) {
    this.#own = own;
    this.#api = api;
    this.#theirs = theirs;
    this.#send = send;
    this.#onIgnored = onIgnored;
  }

  /** @throws what the method threw, a `ServiceError` as such; ServiceError `unavailable` when the other process is gone or its reply does not fit */
  call<Name extends keyof Theirs & string>(name: Name, ...args: Arguments<Theirs, Name>): Promise<Reply<Theirs, Name>> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(new ServiceError('unavailable', this.#end));
      this.#waiting.set(++lastId, { form: (this.#theirs[name] as Offer[string])[1], resolve, reject });
      this.#send(['call', lastId, name, args]);
    });
  }

  /** Takes a message of the other process. */
  receive(received: unknown): void {
    const { data } = message.safeParse(received);
    if (data && (data[0] === 'call' ? this.#take(data) : this.#settle(data))) return;
    this.#onIgnored();
    this.#onIgnored = () => {};
  }

  /** The other process is gone: ends what waits for it, and what is called from now on. */
  close(reason: string): void {
    this.#end ??= reason;
    for (const { reject } of this.#waiting.values()) reject(new ServiceError('unavailable', reason));
    this.#waiting.clear();
  }

  #take([, id, name, value]: z.output<typeof call>): boolean {
    const args = Object.hasOwn(this.#own, name) ? this.#own[name]?.[0].safeParse(value) : undefined;
    if (!args?.success) return false;
    const answer = async () => this.#api[name]?.(...(args.data as Arguments<Own, string>));
    answer()
      .then((reply) => this.#send(['done', id, reply]))
      .catch((error: Error) => {
        const { message } = error;
        this.#send(['failed', id, error instanceof ServiceError ? { code: error.code, message } : { message }]);
      });
    return true;
  }

  #settle([kind, id, value]: Exclude<z.output<typeof message>, z.output<typeof call>>): boolean {
    const waiting = this.#waiting.get(id);
    if (!waiting) return false;
    this.#waiting.delete(id);
    if (kind === 'failed') {
      waiting.reject(value.code ? new ServiceError(value.code, value.message) : new Error(value.message));
      return true;
    }
    const reply = waiting.form.safeParse(value);
    if (reply.success) waiting.resolve(reply.data as never);
    else waiting.reject(new ServiceError('unavailable', 'The reply of the other process cannot be read.'));
    return reply.success;
  }
}
