import type { Clock } from '../../../lib/clock.ts';
import { eventIds } from '../../event-ids.ts';
import type { EventLog } from '../event-log.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';
import { eventTimeMs } from './event-selection.ts';

/** Accounts whose login is kept; of more, those that logged in longest ago are left out. */
const maxAccounts = 100_000;

/** Work without a rest, and the least age of what is read again, in milliseconds. */
const workMs = 20;
const freshForMs = 1000;

/** The last login of an account. */
export interface LastLogin {
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  readonly address: string;
  /** UUIDs of the service and of the authentication method. */
  readonly service: string;
  readonly method: string;
  /** UUID of the account's group; undefined where the journal does not tell. */
  readonly group: string | undefined;
}

const selection = { id: [eventIds.authenticationAccepted], uuid: [] };

/**
 * The last login of each account as the journal tells it (event `authenticationAccepted`). The journal is read when somebody asks first, newest
 * first and in the background; later only what is new.
 */
export class LastLogins {
  readonly #journal: () => EventLog;
  readonly #clock: Clock;
  readonly #logins = new Map<string, LastLogin>();
  /** All before it is read; undefined until the first reading has ended. */
  #end: LogPosition | undefined;
  #sinceMs: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** Counts the accounts that came. */
  version = 0;

  constructor(journal: () => EventLog, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** By the name of the account. */
  get logins(): ReadonlyMap<string, LastLogin> {
    return this.#logins;
  }

  /** Whether the journal was read to its beginning. */
  get isComplete(): boolean {
    return this.#end !== undefined;
  }

  /** The oldest login that was read, Unix time in milliseconds; undefined before there is one. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /**
   * Reads what is new.
   *
   * @param withinMs time to wait; the reading goes on after it
   * @throws ServiceError `unavailable` when the journal cannot be read at present
   */
  async refresh(withinMs: number): Promise<void> {
    if (!this.#reading && this.#clock.monotonicMs() - this.#readAtMs >= freshForMs) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      // It is told to those who wait.
      this.#reading.catch(() => {});
    }
    await Promise.race([this.#reading, this.#clock.sleep(withinMs)]);
  }

  async #read(): Promise<void> {
    const journal = this.#journal();
    const end = await journal.findEnd();
    let beganMs = this.#clock.monotonicMs();
    reading: for await (const { candidates } of journal.newestBlocks(selection, end)) {
      for (const { raw, position, userGroup } of candidates) {
        if (this.#end && comparePositions(position, this.#end) < 0) break reading;
        const event = parseEvent(raw);
        if (typeof event === 'string' || Number(event.id) !== eventIds.authenticationAccepted) continue;
        const { account, component, data } = event;
        const timeMs = eventTimeMs(event);
        const about = { address: account.peer.address, service: component.uuid, method: String(data.method_uuid ?? '') };
        this.#take(account.name, { timeMs, ...about, group: userGroup() });
      }
      const workedMs = this.#clock.monotonicMs() - beganMs;
      if (workedMs < workMs) continue;
      await this.#clock.sleep(workedMs);
      beganMs = this.#clock.monotonicMs();
    }
    this.#end = end;
    this.#readAtMs = this.#clock.monotonicMs();
  }

  #take(name: string, login: LastLogin): void {
    this.#sinceMs = Math.min(this.#sinceMs ?? login.timeMs, login.timeMs);
    const known = this.#logins.get(name);
    if (known && known.timeMs >= login.timeMs) return;
    if (!known) {
      if (this.#logins.size >= maxAccounts) return;
      this.version++;
    }
    this.#logins.set(name, login);
  }
}
