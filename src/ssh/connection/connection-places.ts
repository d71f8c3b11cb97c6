import { loginSource } from '../../auth/ban-list.ts';
import type { SshService } from '../ssh-service.ts';

/** How many connections of a kind there may be, and what is said of one more. */
interface ConnectionLimit {
  name: string;
  most: number;
  refusal: string;
}

/** The places that one connection has among those of its service; the limits hold for all processes together. */
export class ConnectionPlaces {
  readonly #service: SshService;
  /** Names of the limits that it counts for: the first to its end, the others until the client has logged in. */
  #taken: string[] = [];
  #hasLeft = false;

  constructor(service: SshService) {
    this.#service = service;
  }

  /** Takes a place among all connections, and among those that have not logged in. @returns why there is none */
  enter(): Promise<string | undefined> {
    const { uuid, options } = this.#service;
    return this.#take([
      { name: `connections ${uuid}`, most: options.maximum_concurrent_connections, refusal: 'Too many connections.' },
      {
        name: `before login ${uuid}`,
        most: options.maximum_unauthenticated_connections,
        refusal: 'Too many connections that have not logged in.',
      },
    ]);
  }

  /** Takes a place among the connections of an address that have not logged in. @returns why there is none */
  enterFrom(address: string): Promise<string | undefined> {
    const { uuid, options } = this.#service;
    return this.#take([
      {
        name: `before login ${uuid} ${loginSource(address)}`,
        most: options.maximum_unauthenticated_connections_per_address,
        refusal: 'Too many connections of this address that have not logged in.',
      },
    ]);
  }

  /** The client has logged in. */
  loggedIn(): void {
    this.#free(this.#taken.splice(1));
  }

  /** The connection ended. */
  leave(): void {
    this.#hasLeft = true;
    this.#free(this.#taken.splice(0));
  }

  async #take(limits: readonly ConnectionLimit[]): Promise<string | undefined> {
    const full = await this.#service.places.take(limits.map(({ name, most }) => [name, most]));
    if (full !== undefined) return limits.find(({ name }) => name === full)?.refusal;
    const names = limits.map(({ name }) => name);
    if (this.#hasLeft) this.#free(names);
    else this.#taken.push(...names);
    return undefined;
  }

  #free(names: readonly string[]): void {
    if (names.length > 0) this.#service.places.free(names);
  }
}
