import type { LoggedEvent } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { AwaitedDeliveries, AwaitedOutcome } from '../../webhooks/engine/delivery-store.ts';
import { readDeliveries, recordsSince } from '../../webhooks/records/delivery-log.ts';

/** Most outcomes that are remembered for a handler that is behind; the record of deliveries has them all. */
const maxRemembered = 20_000;

/** The deliveries of one handler that uploads wait for: the background passes over those that are recorded. */
export class UploadDeliveries implements AwaitedDeliveries {
  readonly #handlerUuid: string;
  readonly #folder: string;
  readonly #journalEnd: () => LogPosition;
  readonly #pending = new Map<string, { willBeMade: Promise<boolean>; resolve: (isMade: boolean) => void }>();
  readonly #settled = new Map<string, { isMade: boolean; position: LogPosition }>();
  /** What stands before it is looked up in the record of deliveries. */
  #rememberedFrom: LogPosition;
  #recorded: Promise<Set<string>> | undefined;

  /** @param journalEnd end of the journal: what stands before its present value was awaited by another process */
  constructor(handlerUuid: string, folder: string, journalEnd: () => LogPosition) {
    this.#handlerUuid = handlerUuid;
    this.#folder = folder;
    this.#journalEnd = journalEnd;
    this.#rememberedFrom = journalEnd();
  }

  /** The delivery of an event was made and recorded, or will not be made while the upload waits. */
  settle(eventUuid: string, isMade: boolean, position = this.#journalEnd()): void {
    const pending = this.#pending.get(eventUuid);
    this.#pending.delete(eventUuid);
    this.#settled.set(eventUuid, { isMade, position });
    pending?.resolve(isMade);
    if (this.#settled.size <= maxRemembered) return;
    this.#settled.clear();
    this.#recorded = undefined;
    this.#rememberedFrom = this.#journalEnd();
  }

  async awaitOutcome({ event, position }: LoggedEvent): Promise<AwaitedOutcome> {
    const settled = this.#settled.get(event.uuid);
    if (settled) return { isMade: settled.isMade };
    const known = this.#pending.get(event.uuid);
    if (known) return known;
    if (comparePositions(position, this.#rememberedFrom) < 0) {
      this.#recorded ??= this.#readRecorded(Number(event.timestamp.timestamp) * 1000);
      return { isMade: (await this.#recorded).has(event.uuid) };
    }
    let resolve: (isMade: boolean) => void = () => {};
    const willBeMade = new Promise<boolean>((settle) => {
      resolve = settle;
    });
    const pending = { willBeMade, resolve };
    this.#pending.set(event.uuid, pending);
    return pending;
  }

  /** Forgets what nobody asks for any more: a reload never goes back behind a handler's position. */
  forgetBefore(position: LogPosition): void {
    for (const [uuid, settled] of this.#settled) if (comparePositions(settled.position, position) < 0) this.#settled.delete(uuid);
  }

  async #readRecorded(sinceMs: number): Promise<Set<string>> {
    const uuids = new Set<string>();
    const from = recordsSince(this.#folder, 'deliveries', sinceMs);
    for await (const { record } of readDeliveries(this.#folder, 'deliveries', from, () => {})) {
      if (record.handler !== this.#handlerUuid || record.source !== 'upload') continue;
      for (const { uuid } of record.events) uuids.add(uuid);
    }
    return uuids;
  }
}
