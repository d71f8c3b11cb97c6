import { type ErrorCode, ServiceError } from './errors.ts';

/** What one side lets the other call: method names and their functions. */
type Api<T> = { [Name in keyof T]: (...args: never[]) => unknown };

/** A thrown value on its way to the other process. */
export interface Fault {
  /** Undefined for what was no `ServiceError`. */
  code: ErrorCode | undefined;
  message: string;
  details: Record<string, unknown>;
}

const call = 0;
const done = 1;
const failed = 2;
const tell = 3;
type Item =
  | [typeof call, number, string, unknown[]]
  | [typeof done, number, unknown]
  | [typeof failed, number, Fault]
  | [typeof tell, string, unknown[]];

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/**
 * Calls between two processes over messages: with an answer (`call`) or without (`tell`). What is said within one turn of the event
 * loop goes out as one message; everything arrives in the order in which it was said.
 *
 * `Own` is what this side offers, `Theirs` what the other one does.
 */
export class Channel<Own extends Api<Own>, Theirs extends Api<Theirs>> {
  readonly #send: (items: unknown[]) => void;
  readonly #own: Own;
  readonly #onFault: (error: unknown) => void;
  readonly #waiting = new Map<number, Waiting>();
  #queue: Item[] = [];
  #lastId = 0;
  #closedBecause: string | undefined;

  /**
   * @param send gives a message to the other process, which hands it to `receive`
   * @param onFault told of a method that failed though nobody waits for it
   */
  constructor(send: (items: unknown[]) => void, own: Own, onFault: (error: unknown) => void) {
    this.#send = send;
    this.#own = own;
    this.#onFault = onFault;
  }

  /**
   * Calls a method of the other process.
   *
   * @throws what the method threw, a `ServiceError` as such; ServiceError `unavailable` when the other process is gone
   */
  call<Name extends keyof Theirs & string>(name: Name, ...args: Parameters<Theirs[Name]>): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    return new Promise((resolve, reject) => {
      if (this.#closedBecause !== undefined) return reject(gone(this.#closedBecause));
      const id = ++this.#lastId;
      this.#waiting.set(id, { resolve, reject });
      this.#add([call, id, name, args]);
    });
  }

  /** Like `call`, and nobody waits for the end of it. */
  tell<Name extends keyof Theirs & string>(name: Name, ...args: Parameters<Theirs[Name]>): void {
    if (this.#closedBecause === undefined) this.#add([tell, name, args]);
  }

  /** Takes a message of the other process. */
  receive(items: unknown): void {
    for (const item of items as Item[]) {
      switch (item[0]) {
        case call:
          this.#answer(item[1], item[2], item[3]);
          break;
        case done:
          this.#settle(item[1])?.resolve(item[2] as never);
          break;
        case failed:
          this.#settle(item[1])?.reject(errorOf(item[2]));
          break;
        case tell:
          this.#listen(item[1], item[2]);
          break;
        default:
          item satisfies never;
      }
    }
  }

  /** Sends what waits for the end of the turn. */
  flush(): void {
    if (this.#queue.length === 0) return;
    const items = this.#queue;
    this.#queue = [];
    this.#send(items);
  }

  /** The other process is gone: fails what waits for it, and whatever is called from now on. */
  close(reason: string): void {
    this.#closedBecause ??= reason;
    this.#queue = [];
    for (const { reject } of this.#waiting.values()) reject(gone(reason));
    this.#waiting.clear();
  }

  #add(item: Item): void {
    if (this.#queue.length === 0) setImmediate(() => this.flush());
    this.#queue.push(item);
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #answer(id: number, name: string, args: unknown[]): void {
    const fail = (error: unknown) => this.#reply([failed, id, faultOf(error)]);
    try {
      const result = this.#run(name, args);
      if (result instanceof Promise) result.then((value) => this.#reply([done, id, value]), fail);
      else this.#reply([done, id, result]);
    } catch (error) {
      fail(error);
    }
  }

  #reply(item: Item): void {
    if (this.#closedBecause === undefined) this.#add(item);
  }

  #listen(name: string, args: unknown[]): void {
    try {
      const result = this.#run(name, args);
      if (result instanceof Promise) result.catch(this.#onFault);
    } catch (error) {
      this.#onFault(error);
    }
  }

  #run(name: string, args: unknown[]): unknown {
    const method = this.#own[name as keyof Own] as unknown as ((...args: unknown[]) => unknown) | undefined;
    if (!method) throw new Error(`There is no method ${name}.`);
    return method(...args);
  }
}

/** A thrown value as it goes through a channel. */
export function faultOf(error: unknown): Fault {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof ServiceError
    ? { code: error.code, message, details: plainOf(error.details) }
    : { code: undefined, message, details: {} };
}

/** What was thrown in the other process. */
export function errorOf({ code, message, details }: Fault): Error {
  return code === undefined ? new Error(message) : new ServiceError(code, message, { details });
}

// Details may hold what no message can carry.
function plainOf(details: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(details)) as Record<string, unknown>;
}

function gone(reason: string): ServiceError {
  return new ServiceError('unavailable', reason);
}
