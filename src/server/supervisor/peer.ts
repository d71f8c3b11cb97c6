import type { ChildProcess } from 'node:child_process';
import * as z from 'zod';
import { errorCodes, isServiceError, ServiceError } from '../../lib/errors.ts';

const text = z.string().max(65_536);
const message = z.union([
  z.tuple([z.literal('ask'), z.int(), text, z.unknown()]),
  z.tuple([z.literal('done'), z.int(), z.unknown()]),
  // A `ServiceError` has a code; other errors have none.
  z.tuple([z.literal('failed'), z.int(), z.strictObject({ code: z.enum(errorCodes).optional(), message: text })]),
]);

interface Waiting {
  form: z.ZodType;
  resolve: (value: never) => void;
  reject: (error: Error) => void;
}

/** Number of the last question. All peers have one counter, so that the reply of a peer never matches a question to another peer. */
let lastId = 0;

/** Exchanges questions and replies between a node and its supervisor. Each of the two processes has one such object. */
export class Peer {
  readonly #process: ChildProcess | NodeJS.Process;
  readonly #answers: ReadonlyMap<string, (value: never) => unknown>;
  readonly #waiting = new Map<number, Waiting>();
  #lost: ServiceError | undefined;

  /** @param onIgnored called for the first message that is malformed, asks an unknown question, or answers no question */
  constructor(process: ChildProcess | NodeJS.Process, answers: Record<string, (value: never) => unknown>, onIgnored: () => void) {
    this.#process = process;
    this.#answers = new Map(Object.entries(answers));
    process.on('message', (received: unknown) => {
      const { data } = message.safeParse(received);
      if (data && (data[0] === 'ask' ? this.#answer(data[1], data[2], data[3]) : this.#settle(data))) return;
      onIgnored();
      onIgnored = () => {};
    });
  }

  /** Asks the other process a question. @throws the reported error; `unavailable` if that process ends or its reply is malformed */
  ask<T>(name: string, value?: unknown, form: z.ZodType<T> = z.custom<T>()): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#lost) return reject(this.#lost);
      this.#waiting.set(++lastId, { form, resolve, reject });
      this.#send(['ask', lastId, name, value]);
    });
  }

  /** Called when the other process has ended. Pending and later questions to it fail. */
  end(reason: string): void {
    this.#lost = new ServiceError('unavailable', reason);
    for (const { reject } of this.#waiting.values()) reject(this.#lost);
  }

  #send(sent: unknown[]): void {
    // A message to a process that is just ending is lost, so errors are ignored.
    if (this.#process.connected) this.#process.send?.(sent, undefined, undefined, () => {});
  }

  #answer(id: number, name: string, value: unknown): boolean {
    const answer = this.#answers.get(name);
    if (!answer) return false;
    Promise.resolve(value as never)
      .then(answer)
      .then((reply) => this.#send(['done', id, reply]))
      .catch((error: Error) => this.#send(['failed', id, { message: error.message, ...(isServiceError(error) && { code: error.code }) }]));
    return true;
  }

  #settle([kind, id, value]: Exclude<z.output<typeof message>, ['ask', ...unknown[]]>): boolean {
    const { form, resolve, reject } = this.#waiting.get(id) ?? {};
    this.#waiting.delete(id);
    if (kind === 'failed') reject?.(value.code ? new ServiceError(value.code, value.message) : new Error(value.message));
    if (kind === 'failed' || !form) return form !== undefined;
    const reply = form.safeParse(value);
    if (reply.success) resolve?.(reply.data as never);
    else reject?.(new ServiceError('unavailable', 'The reply of the other process cannot be read.'));
    return reply.success;
  }
}
