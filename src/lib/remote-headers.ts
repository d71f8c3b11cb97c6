/** Header lines of a request; names compare without case, the last spelling is sent. What ofetch needs of `Headers`. */
export class RequestHeaders {
  readonly #lines: Map<string, [name: string, value: string]>;

  /** Another `RequestHeaders` is shared, not copied: the client makes one a request. */
  constructor(init?: RequestHeaders | Iterable<readonly [string, string]>) {
    this.#lines = init instanceof RequestHeaders ? init.#lines : new Map();
    if (init && !(init instanceof RequestHeaders)) for (const [name, value] of init) this.set(name, value);
  }

  get(name: string): string | null {
    return this.#lines.get(name.toLowerCase())?.[1] ?? null;
  }

  has(name: string): boolean {
    return this.#lines.has(name.toLowerCase());
  }

  set(name: string, value: string): void {
    this.#lines.set(name.toLowerCase(), [name, value]);
  }

  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#lines.values();
  }

  /** As node:http takes them. */
  toObject(): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const [name, value] of this.#lines.values()) headers[name] = value;
    return headers;
  }
}
