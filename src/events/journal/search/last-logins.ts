import type { Clock } from '../../../lib/clock.ts';
import { eventIds } from '../../event-ids.ts';
import type { EventLog } from '../event-log.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';
import { eventTimeMs } from './event-selection.ts';

/** Maximum number of accounts whose last login is kept. Accounts with older logins are left out. */
const maxAccounts = 100_000;

/** Duration of work in milliseconds before a rest of the same duration. */
const workMs = 20;
/** Minimum time in milliseconds between two readings of the journal. */
const freshForMs = 1000;

export interface LastLogin {
  /** Unix time in milliseconds. */
  readonly timeMs: number;
  readonly address: string;
  /** UUIDs of the service and of the authentication method. */
  readonly service: string;
  readonly method: string;
  /** UUID of the account's group; undefined if the journal does not contain it. */
  readonly group: string | undefined;
}

const selection = { id: [eventIds.authenticationAccepted], uuid: [] };

/**
 * Finds the last login of each account in the journal (events `authenticationAccepted`). The first call of `refresh` reads the journal in
 * the background, newest events first. Later calls read only new events.
 */
export class LastLogins {
  readonly #journal: () => EventLog;
  readonly #clock: Clock;
  readonly #logins = new Map<string, LastLogin>();
  /** Position up to which the journal was read; undefined until the first reading has ended. */
  #end: LogPosition | undefined;
  #sinceMs: number | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  /** Increases when an account is added to the logins. */
  version = 0;

  constructor(journal: () => EventLog, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
  }

  /** The last login of each account, by account name. */
  get logins(): ReadonlyMap<string, LastLogin> {
    return this.#logins;
  }

  /** Whether the whole journal has been read. */
  get isComplete(): boolean {
    return this.#end !== undefined;
  }

  /** Time of the oldest login that was read, Unix time in milliseconds; undefined if there is none yet. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /**
   * Reads new events.
   *
   * @param withinMs maximum time to wait in milliseconds; after it, the reading continues in the background
   * @throws ServiceError `unavailable` if the journal cannot be read at present
   */
  async refresh(withinMs: number): Promise<void> {
    if (!this.#reading && this.#clock.monotonicMs() - this.#readAtMs >= freshForMs) {
      this.#reading = this.#read().finally(() => {
        this.#reading = undefined;
      });
      // Callers that wait get the error from the race below. Without this line, the error would end the process if no caller waits.
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
