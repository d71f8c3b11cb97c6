import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { EventContext } from '../../events/event.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { HeldEnd, HeldFacts } from '../inspections/held-facts.ts';
import type { PassingUpload } from './upload-holds.ts';

/** The data of an upload at its beginning; only `contentPath` changes later. */
export interface UploadOrder {
  /** The only account that may continue it. */
  readonly accountUuid: string;
  readonly path: VirtualPath;
  /**
   * Real path, its folder's links resolved, of the hidden file with the content. Only the request that holds the upload has it open; if
   * that is not certain the next one takes another (`UploadHold.isTakeover`).
   */
  readonly contentPath: string;
  /** Client and component that began it, for events without a request. */
  readonly origin: EventContext;
  /** Parsed upload metadata, `data.metadata` of the events. */
  readonly metadata?: Record<string, string[]> | undefined;
  /** UUID of the event handler whose reply the end of the upload waits for. */
  readonly backendUuid?: string | undefined;
  /** Modification time to set, Unix time in milliseconds. */
  readonly modifiedMs?: number | undefined;
  /** Strings that the protocol needs in later requests, such as headers of the first one. */
  readonly notes: Readonly<Record<string, string>>;
  /** Of an upload that has all its content and is held by an inspection. */
  readonly held?: HeldFacts | undefined;
}

export interface FailedUpload {
  readonly kind: 'failed';
  readonly code: string;
  readonly message: string;
}

/** The answer to the end of an upload, kept for clients that did not get the reply. */
export type UploadOutcome = { readonly kind: 'stored'; readonly headers: readonly (readonly [string, string])[] } | FailedUpload;

/** Recorded before an upload gets its name, so that another process can see later how far that came. */
export interface UploadCompletion {
  /** Inode of the content (`inodeAt`): identifies it under its final name. */
  readonly inode: string;
  /** Real path of the final name. */
  readonly target: string;
  /** The other name that the file got because its own was taken. */
  readonly numberedName?: string;
  /** UUID of the event `fileUploaded`. */
  readonly eventUuid: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
  /** Data of the event. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Real path, hidden like `contentPath`, to which the content is renamed to prevent its completion. */
  readonly asidePath: string;
  /** Of a held upload: the administrator who released it; empty for an inspection that was late. */
  readonly releasedBy?: string | undefined;
}

/** Recorded before an upload ends without a file: then its content goes, events are emitted, and it gets its outcome. */
export interface UploadEnding {
  readonly code: string;
  readonly message: string;
  /** Told by `unfinishedUploadEnded`, or `heldUploadEnded`; a cancelled upload is forgotten at once. */
  readonly how: 'expired' | 'cancelled' | HeldEnd | undefined;
  /** Whether its client knows its URL. Otherwise no outcome is kept. */
  readonly isTold: boolean;
  /** Data of the events. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

/** The part of an upload that requests change. */
export interface UploadProgress {
  /** Bytes of the content that are on disk. */
  readonly offsetBytes: number;
  /** Size of the whole, once the client has announced it. */
  readonly lengthBytes: number | undefined;
  /** Requests that brought content so far. */
  readonly requests: number;
  /** Total duration of these requests in milliseconds. */
  readonly activeMs: number;
  readonly completion: UploadCompletion | undefined;
  readonly ending: UploadEnding | undefined;
  /** Set once the upload is over. */
  readonly outcome: UploadOutcome | undefined;
}

export type UploadChange = Partial<UploadProgress & Pick<UploadOrder, 'contentPath' | 'path' | 'held'>>;

/** An upload that may take several requests. */
export interface UploadRecord extends UploadOrder, UploadProgress {
  /** Names the upload in its URL; cannot be guessed. */
  readonly id: string;
  /** When it expires, or is forgotten if it is over, unless a request changes it before; Unix time in milliseconds. */
  readonly expiresMs: number;
}

/** The limits of `server.uploads`. */
export interface UploadLimits {
  readonly expireAfterMs: number;
  readonly maxPerAccount: number;
}

/**
 * Exclusive access of one request to an upload, without which nothing of it changes. A request that is suspended for longer than others
 * wait has lost it, and learns that at its next change: it must not touch the upload then.
 */
export interface UploadHold {
  /** The current state of the upload; undefined when there is none. */
  readonly record: UploadRecord | undefined;
  /** Whether a newer request wants the upload, so that this one must end. */
  readonly isWanted: boolean;
  /** Whether an earlier holder never released it and may have its content open: no writes before `renewContent`. */
  readonly isTakeover: boolean;
  /**
   * Records a change. The time of the upload starts anew.
   *
   * @throws ServiceError `unavailable` when the hold is lost (`isLost`), `not-found` when the upload is gone
   */
  change(change: UploadChange): Promise<UploadRecord>;
  /** Records another path of the content, which nobody else has open. @throws as `change` */
  renewContent(contentPath: string): Promise<UploadRecord>;
  /** Checks that no other request holds the upload. @throws as `change` */
  confirm(): Promise<void>;
  /** Forgets the upload. @throws as `change` */
  remove(): Promise<void>;
  /** Passes the upload to the next request; no file of it may be open. Call once. */
  release(): void;
}

/**
 * Keeps the records of unfinished uploads; their content is in the accounts' folders. Confirmed changes survive the process.
 * Every implementation passes `test/contracts/upload-store.ts`.
 */
export interface UploadStore {
  /** Keeps a new upload. @throws ServiceError `too-many-requests` when the account has its maximum */
  add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord>;
  /** The upload of an ID, from any source; undefined when there is none. It may be over, or expired. */
  find(id: string): Promise<UploadRecord | undefined>;
  /**
   * Waits for the hold on the upload. Requests that hold it or wait for it are asked to end: the newest wins.
   *
   * @param onWanted called when a newer request wants the upload
   */
  hold(id: string, onWanted: () => void): Promise<UploadHold>;
  /** Ends the requests that hold the upload or wait for it, and resolves when they have ended. For queries: takes no hold. */
  quiet(id: string): Promise<void>;
  /** The uploads whose content is below a real folder, except those that are over. */
  within(realPath: string): Promise<UploadRecord[]>;
  /** Those of `within` whose file is to get a name. @param target real path */
  named(target: string): Promise<UploadRecord[]>;
  /**
   * Counts an upload that ends with its connection like all others of its account.
   *
   * @returns reports the end; it may be called again
   * @throws ServiceError `too-many-requests` when the account has its maximum
   */
  enter(upload: PassingUpload): Promise<() => void>;
  /** Reports to such uploads in a real folder, or below it, that it is gone. */
  dismiss(realPath: string): Promise<void>;
  expired(): Promise<UploadRecord[]>;
  /** The uploads whose end was begun, but not concluded, by a process that is gone. */
  completing(): Promise<UploadRecord[]>;
  /**
   * Restores lost uploads with their recorded end, so that `completing` returns them.
   *
   * @param isStored whether the journal says that an upload became a file; since a Unix time in milliseconds
   */
  endLost?(isStored: (id: string, sinceMs: number) => Promise<boolean>): Promise<void>;
}

/** Keeps the unfinished uploads of several nodes; it may lose some. */
export interface SharedUploadStore extends UploadStore {
  /** The uploads that it does not have. */
  missing(ids: readonly string[]): Promise<string[]>;
  /** Adds a lost upload whose end is recorded, unless it is there. It no longer counts for its account. */
  restore(record: UploadRecord): Promise<void>;
}

/** @throws ServiceError `unavailable` for a request that has lost the upload to another one */
export function refuseLost(): never {
  throw new ServiceError('unavailable', 'Another request has taken the upload over, try again.', { details: { lost: true } });
}

/** Whether a request has lost the upload to another one. */
export function isLost(error: unknown): boolean {
  return isServiceError(error) && error.details.lost === true;
}

/** The same upload after a change. */
export function changed(record: UploadRecord, change: UploadChange, nowMs: number, limits: UploadLimits): UploadRecord {
  const after = { ...record, ...change };
  return { ...after, expiresMs: computeExpiry(after, nowMs, limits) };
}

/** Whether the end of an upload was begun and is not concluded. */
export function isEnding({ completion, ending, outcome }: UploadProgress): boolean {
  return (completion !== undefined || ending !== undefined) && !outcome;
}

/** @throws ServiceError `too-many-requests` for an account with its maximum of uploads */
export function refuseMoreThan(maxPerAccount: number): never {
  throw new ServiceError('too-many-requests', `An account may have ${maxPerAccount} unfinished or held uploads.`);
}

/** The record of an upload that is over is kept this long, for a client whose reply was lost. */
export const keptWhenOverMs = 600_000;

const idPattern = /^[A-Za-z0-9_-]{43}$/;

/** Whether a text has the form of an ID; nothing else becomes part of a path or a key. */
export function isUploadId(text: string): boolean {
  return idPattern.test(text);
}

// A command would take an ID that begins with a hyphen for an option.
function newId(): string {
  return randomBytes(32).toString('base64url').replace(/^-/, '_');
}

/** The record of an upload that begins now. */
export function newUploadRecord(order: UploadOrder, lengthBytes: number | undefined, nowMs: number, limits: UploadLimits): UploadRecord {
  const over = { completion: undefined, ending: undefined, outcome: undefined };
  const offsetBytes = order.held ? (lengthBytes ?? 0) : 0;
  const progress = { offsetBytes, lengthBytes, requests: 0, activeMs: 0, ...over };
  return {
    ...order,
    ...progress,
    id: newId(),
    expiresMs: computeExpiry({ ...over, held: order.held }, nowMs, limits),
  };
}

/** When an upload expires after a change now; Unix time in milliseconds. */
function computeExpiry({ outcome, held }: Pick<UploadRecord, 'outcome' | 'held'>, nowMs: number, { expireAfterMs }: UploadLimits): number {
  if (outcome) return nowMs + keptWhenOverMs;
  return (held?.sinceMs ?? nowMs) + expireAfterMs;
}

/** Real path of the name that an upload is to get. */
export function targetOf({ contentPath, path }: Pick<UploadRecord, 'contentPath' | 'path'>): string {
  return `${dirname(contentPath)}/${baseName(path)}`;
}
