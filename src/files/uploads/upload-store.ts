import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { EventContext } from '../../events/event.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { HeldEnd, HeldFacts } from '../inspections/held-facts.ts';
import type { PassingUpload } from './upload-holds.ts';

export interface UploadOrder {
  /** The only account that may continue the upload. */
  readonly accountUuid: string;
  readonly path: VirtualPath;
  /**
   * Real path of the hidden file with the content; the symbolic links in the path of its folder are resolved. Only the request that holds
   * the upload writes to the file. If an earlier holder did not release the upload (`UploadHold.isTakeover`), it may still have the file
   * open, so the next holder replaces the file by another one.
   */
  readonly contentPath: string;
  /** The client and component that began the upload, for events without a request. */
  readonly origin: EventContext;
  /** Parsed upload metadata, for `data.metadata` of the events. */
  readonly metadata?: Record<string, string[]> | undefined;
  /** UUID of an event handler. When the file is stored, the upload waits for the reply of this handler before it ends. */
  readonly backendUuid?: string | undefined;
  /** Modification time to set, Unix time in milliseconds. */
  readonly modifiedMs?: number | undefined;
  /** Strings that the protocol needs in later requests, such as headers of the first request. */
  readonly notes: Readonly<Record<string, string>>;
  /** Set for an upload that has all its content and is held by an inspection. */
  readonly held?: HeldFacts | undefined;
}

export interface FailedUpload {
  readonly kind: 'failed';
  readonly code: string;
  readonly message: string;
}

/** The outcome of an upload, kept for clients that did not get the reply. */
export type UploadOutcome = { readonly kind: 'stored'; readonly headers: readonly (readonly [string, string])[] } | FailedUpload;

/** Recorded before the content is renamed to its final name, so that another process can later find out whether the rename was made. */
export interface UploadCompletion {
  /** Inode of the content (`inodeAt`), by which the file is recognised under its final name. */
  readonly inode: string;
  readonly target: string;
  /** The numbered name that the file got because the requested name was taken. */
  readonly numberedName?: string;
  /** UUID of the event `fileUploaded`. */
  readonly eventUuid: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
  /** Data of that event. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Hidden real path. If another process must prevent the completion, that process renames the content to this path. */
  readonly asidePath: string;
  /** For a held upload: the administrator who released it; empty if a late inspection accepted it. */
  readonly releasedBy?: string | undefined;
}

/** Recorded before an upload ends without becoming a file. Next, the content is removed, events are emitted, and the outcome is kept. */
export interface UploadEnding {
  readonly code: string;
  readonly message: string;
  /** Reason in event `unfinishedUploadEnded` or `heldUploadEnded`; undefined if neither is emitted. `cancelled` also removes the record. */
  readonly how: 'expired' | 'cancelled' | HeldEnd | undefined;
  /** Whether the client knows the URL of the upload. If it does not, no outcome is kept. */
  readonly isTold: boolean;
  readonly data: Readonly<Record<string, unknown>>;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

export interface UploadProgress {
  /** Bytes of the content that are on disk. */
  readonly offsetBytes: number;
  /** Complete size, if the client has announced it. */
  readonly lengthBytes: number | undefined;
  /** Number of requests so far that sent content. */
  readonly requests: number;
  /** Total duration of these requests in milliseconds. */
  readonly activeMs: number;
  readonly completion: UploadCompletion | undefined;
  readonly ending: UploadEnding | undefined;
  /** Set when the upload is over. */
  readonly outcome: UploadOutcome | undefined;
}

export type UploadChange = Partial<UploadProgress & Pick<UploadOrder, 'contentPath' | 'path' | 'held'>>;

export interface UploadRecord extends UploadOrder, UploadProgress {
  /** The ID of the upload in its URL. It cannot be guessed. */
  readonly id: string;
  /**
   * Time at which the upload expires, or at which the record of an ended upload is removed; Unix time in milliseconds. Each change renews
   * this time, except for a held upload.
   */
  readonly expiresMs: number;
}

/** The limits of `server.uploads`. */
export interface UploadLimits {
  readonly expireAfterMs: number;
  readonly maxPerAccount: number;
}

/**
 * Exclusive access of one request to an upload. Only this request may change the upload. If the request is suspended for too long, another
 * request takes the hold over. The suspended request notices this at its next change. From then on, it must not access the upload.
 */
export interface UploadHold {
  /** The current state of the upload; undefined if it does not exist. */
  readonly record: UploadRecord | undefined;
  /** Whether a newer request asks for the upload. If so, this request must end. */
  readonly isWanted: boolean;
  /**
   * Whether an earlier holder never released the upload, and may still have the content open. If so, `renewContent` must precede all
   * writes.
   */
  readonly isTakeover: boolean;
  /**
   * Records a change, and renews the expiry of the upload.
   *
   * @throws ServiceError `unavailable` if the hold is lost (`isLost`), `not-found` if the upload no longer exists
   */
  change(change: UploadChange): Promise<UploadRecord>;
  /** Records the path of a new content file, which only this holder has open. @throws as `change` */
  renewContent(contentPath: string): Promise<UploadRecord>;
  /** Checks that no other request holds the upload. @throws as `change` */
  confirm(): Promise<void>;
  /** Removes the record of the upload. @throws as `change` */
  remove(): Promise<void>;
  /** Passes the upload to the next request. Close the content first. Call this only once. */
  release(): void;
}

/**
 * Keeps the records of unfinished uploads. The content is in the accounts' folders. Confirmed changes survive the process.
 * Every implementation passes `test/contracts/upload-store.ts`.
 */
export interface UploadStore {
  /** Adds a new upload. @throws ServiceError `too-many-requests` if the account, or visitors of its shared links, reached the maximum */
  add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord>;
  /** The upload with an ID, which may come from an untrusted source; undefined if there is none. The upload may be over or expired. */
  find(id: string): Promise<UploadRecord | undefined>;
  /**
   * Waits for the hold on the upload. Requests that hold the upload or wait for it are asked to end, so that the newest request gets the
   * upload.
   *
   * @param onWanted called when a newer request asks for the upload
   */
  hold(id: string, onWanted: () => void): Promise<UploadHold>;
  /** Ends the requests that hold the upload or wait for it, and resolves when they have ended. Takes no hold; used by queries. */
  quiet(id: string): Promise<void>;
  /** The uploads whose content is below a real folder, except those that are over. */
  within(realPath: string): Promise<UploadRecord[]>;
  /** The uploads that are not over and whose file will get a given path. @param target real path */
  named(target: string): Promise<UploadRecord[]>;
  /**
   * Counts a `PassingUpload` towards the limit of its account.
   *
   * @returns a function that reports the end of the upload; further calls do nothing
   * @throws ServiceError `too-many-requests` if the account has reached the maximum
   */
  enter(upload: PassingUpload): Promise<() => void>;
  /**
   * Reports to uploads counted by `enter` that their folder, or a folder above it, was removed.
   *
   * @param realPath former path of the removed folder
   */
  dismiss(realPath: string): Promise<void>;
  expired(): Promise<UploadRecord[]>;
  /** The uploads that a stopped process began to complete or end, but did not finish. */
  completing(): Promise<UploadRecord[]>;
  /**
   * Restores the records of uploads that the shared store lost. A restored upload counts as one that began to end or to be completed, so
   * that `completing` returns it. Only a held upload that had not begun to end stays held.
   *
   * @param isStored returns whether the journal has the event `fileUploaded` of an upload. Events before `sinceMs` (Unix time in
   *   milliseconds) need not be searched, because the event cannot be older
   */
  endLost?(isStored: (id: string, sinceMs: number) => Promise<boolean>): Promise<void>;
}

/** Keeps the unfinished uploads of several nodes. It may lose records. */
export interface SharedUploadStore extends UploadStore {
  missing(ids: readonly string[]): Promise<string[]>;
  /**
   * Adds the record of a lost upload, unless the store has it. Of such uploads, only those that stay held count towards the limit of
   * their account.
   */
  restore(record: UploadRecord): Promise<void>;
}

/** @throws ServiceError `unavailable` for a request that has lost the upload to another one */
export function refuseLost(): never {
  throw new ServiceError('unavailable', 'Another request has taken the upload over; try again.', { details: { lost: true } });
}

/** Whether a request has lost the upload to another one. */
export function isLost(error: unknown): boolean {
  return isServiceError(error) && error.details.lost === true;
}

/** The record of an upload after a change, with its new expiry. */
export function changed(record: UploadRecord, change: UploadChange, nowMs: number, limits: UploadLimits): UploadRecord {
  const after = { ...record, ...change };
  return { ...after, expiresMs: computeExpiry(after, nowMs, limits) };
}

/** Whether a process has begun to complete or end an upload, and has not finished. */
export function isEnding({ completion, ending, outcome }: UploadProgress): boolean {
  return (completion !== undefined || ending !== undefined) && !outcome;
}

/** The key under which uploads are counted. Visitors of shared links are counted apart, so they cannot use up the account's maximum. */
export function uploadParty({ accountUuid, origin }: Pick<UploadOrder, 'accountUuid' | 'origin'>): string {
  return origin.link === undefined ? accountUuid : `${accountUuid}/links`;
}

/** @throws ServiceError `too-many-requests` if an account has reached the maximum of uploads */
export function refuseMoreThan(maxPerAccount: number): never {
  throw new ServiceError('too-many-requests', `An account may have at most ${maxPerAccount} unfinished or held uploads.`);
}

/** Time for which the record of an ended upload is kept, for a client that did not get the reply. */
export const keptWhenOverMs = 600_000;

const idPattern = /^[A-Za-z0-9_-]{43}$/;

/** Whether a text has the form of an ID. Only such a text may become part of a path or a key. */
export function isUploadId(text: string): boolean {
  return idPattern.test(text);
}

// The ID does not begin with a hyphen, because commands would read it as an option.
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

function computeExpiry({ outcome, held }: Pick<UploadRecord, 'outcome' | 'held'>, nowMs: number, { expireAfterMs }: UploadLimits): number {
  if (outcome) return nowMs + keptWhenOverMs;
  return (held?.sinceMs ?? nowMs) + expireAfterMs;
}

/** The final real path of the file of an upload. */
export function uploadTarget({ contentPath, path }: Pick<UploadRecord, 'contentPath' | 'path'>): string {
  return `${dirname(contentPath)}/${baseName(path)}`;
}
