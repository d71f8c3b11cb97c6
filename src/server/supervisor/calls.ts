import { type ErrorCode, ServiceError } from '../../lib/errors.ts';

/** Methods that one process offers the other. */
type Api<T> = { [Name in keyof T]: (...args: never[]) => unknown };

type Message = ['call', id: number, name: string, args: unknown[]] | ['done', id: number, value: unknown] | ['failed', id: number, Fault];

/** A thrown value as a message has it; without a code it was no `ServiceError`. */
interface Fault {
  code: ErrorCode | undefined;
  message: string;
}

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** Calls between supervisor and node over messages of two processes. `Own` is what this side offers, `Theirs` what the other one does. */
export class Calls<Own extends Api<Own>, Theirs extends Api<Theirs>> {
  readonly #send: (message: unknown) => void;
  readonly #own: Own;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #end: string | undefined;

  /** @param send gives a message to the other process, which hands it to `receive` */
  constructor(send: (message: unknown) => void, own: Own) {
    this.#send = send;
    this.#own = own;
  }

  /** @throws what the method threw, a `ServiceError` as such; ServiceError `unavailable` when the other process is gone */
  call<Name extends keyof Theirs & string>(name: Name, ...args: Parameters<Theirs[Name]>): Promise<Awaited<ReturnType<Theirs[Name]>>> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(new ServiceError('unavailable', this.#end));
      this.#waiting.set(++this.#lastId, { resolve, reject });
      this.#send(['call', this.#lastId, name, args] satisfies Message);
    });
  }

  /** Takes a message of the other process. */
  receive(message: unknown): void {
    const [kind, id, value, args] = message as Message;
    if (kind === 'call') return void this.#answer(id, value as keyof Own, args as never[]);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (kind === 'done') waiting?.resolve(value as never);
    else waiting?.reject(errorOf(value as Fault));
  }

  /** The other process is gone: ends what waits for it, and what is called from now on. */
  close(reason: string): void {
    this.#end ??= reason;
    for (const { reject } of this.#waiting.values()) reject(new ServiceError('unavailable', reason));
    this.#waiting.clear();
  }

  async #answer(id: number, name: keyof Own, args: never[]): Promise<void> {
    try {
      this.#send(['done', id, await this.#own[name](...args)] satisfies Message);
    } catch (error) {
      const fault = { code: error instanceof ServiceError ? error.code : undefined, message: (error as Error).message };
      this.#send(['failed', id, fault] satisfies Message);
    }
  }
}

function errorOf({ code, message }: Fault): Error {
  return code === undefined ? new Error(message) : new ServiceError(code, message);
}
