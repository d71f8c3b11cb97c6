import type { Account } from '../accounts/account.ts';
import { eventAccount } from '../auth/auth-chain.ts';
import type { Identity } from '../auth/credentials.ts';
import type { SessionLifetimes } from '../auth/sessions.ts';
import type { ReloadReport } from '../config/report-shapes.ts';
import type { ConsoleOptions } from '../config/schema/console-options.ts';
import type { EventComponent, EventDraft } from '../events/event.ts';
import { processAccount } from '../events/event-factory.ts';
import { eventIds } from '../events/event-ids.ts';
import type { FileServiceOptions, RequestParts } from './parts.ts';

/** The expiry of a service's certificate. */
export interface CertificateEnd {
  service: string;
  /** Unix time in milliseconds; undefined without TLS. */
  endMs: number | undefined;
}

/** The numbers of sessions, connections and transfers that were ended because their accounts lost access. */
export type Ended = ReloadReport['ended'];

export const nothingEnded: Ended = { sessions: 0, connections: 0, transfers: 0 };

export function sumOfEnded(all: readonly Ended[]): Ended {
  const sum = (name: keyof Ended) => all.reduce((total, ended) => total + ended[name], 0);
  return { sessions: sum('sessions'), connections: sum('connections'), transfers: sum('transfers') };
}

/** A prepared reload, to be committed or aborted. */
export interface PreparedReload {
  commit(): Promise<Ended>;
  abort(): Promise<void>;
}

/**
 * Prepares all parts one after the other, to be committed or aborted together.
 * @throws the error of a part. In that case, the parts that were already prepared have been aborted
 */
export async function prepareAll(parts: readonly (() => Promise<PreparedReload>)[]): Promise<PreparedReload> {
  const prepared: PreparedReload[] = [];
  const abort = async () => {
    for (const part of [...prepared].reverse()) await part.abort();
  };
  try {
    for (const prepare of parts) prepared.push(await prepare());
  } catch (error) {
    await abort();
    throw error;
  }
  const commit = async () => {
    const ended: Ended[] = [];
    for (const part of prepared) ended.push(await part.commit());
    return sumOfEnded(ended);
  };
  return { commit, abort };
}

/** Emits an event about the start or stop of a service: `serviceStarted`, `serviceStartFailed` or `serviceStopped`. */
export type Announce = (id: number, data: Record<string, unknown>, component: EventComponent) => void;

/** Returns a service as the component of an event. */
export function serviceComponent(uuid: string, options: { type: string; name: string }): EventComponent {
  return { uuid, type: options.type, name: options.name || uuid };
}

/** Returns the `data` of events about the start of a service. */
export function startData(uuid: string, options: FileServiceOptions | ConsoleOptions, port = options.port): Record<string, unknown> {
  return { name: options.name || uuid, type: options.type, address: options.address, port };
}

/** Returns the lifetimes of a service's sessions; 0 for a service that is no longer configured. */
export function sessionLifetimes(parts: RequestParts | undefined, uuid: string): SessionLifetimes {
  const options = parts?.config.services[uuid] as FileServiceOptions | undefined;
  return { idleMs: (options?.idle_connection_timeout ?? 0) * 1000, maximumAgeMs: (options?.session_maximum_age ?? 0) * 1000 };
}

/** Builds the event for a session that timed out. @param account the current account, if it still exists */
export function timeoutEvent({ config }: RequestParts, uuid: string, identity: Identity, account: Account | undefined): EventDraft {
  const component = serviceComponent(uuid, config.services[uuid] as FileServiceOptions);
  const ofEvents = eventAccount(account ?? { ...identity, email: '' }, processAccount().peer);
  return { id: eventIds.sessionTimedOut, context: { account: ofEvents, component, ...(account && { group: account.groupUuid }) } };
}
