import { randomBytes } from 'node:crypto';
import type { EventContext } from '../../events/event.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { PassingUpload } from './upload-holds.ts';

/** What an upload that may take several requests was begun with. But for the place of its content it does not change. */
export interface UploadOrder {
  /** Account that may go on with it, and nobody else. */
  readonly accountUuid: string;
  /** Where the file will be. */
  readonly path: VirtualPath;
  /**
   * Real path, its folder's links resolved, of the hidden file that holds the content so far. Only the request that holds the upload writes it,
   * and nobody else has it open: where that is not certain the next one takes another (`UploadHold.isTakeover`).
   */
  readonly contentPath: string;
  /** Who began it and where, for what happens while no request is there to tell of. */
  readonly origin: EventContext;
  /** Parsed upload metadata, `data.metadata` of the events. */
  readonly metadata?: Record<string, string[]> | undefined;
  /** UUID of the event handler whose reply the end of the upload waits for. */
  readonly backendUuid?: string | undefined;
  /** Modification time to set, Unix time in milliseconds. */
  readonly modifiedMs?: number | undefined;
  /** What the protocol has to know again when a later request goes on: strings alone, such as headers of the first one. */
  readonly notes: Readonly<Record<string, string>>;
}

/** Why an upload came to nothing. */
export interface FailedUpload {
  readonly kind: 'failed';
  readonly code: string;
  readonly message: string;
}

/** How the end of an upload was answered, kept for clients that did not get the reply. */
export type UploadOutcome = { readonly kind: 'stored'; readonly headers: readonly (readonly [string, string])[] } | FailedUpload;

/** What may have been begun of giving an upload its name, so that whoever comes later can tell how far it came. */
export interface UploadCompletion {
  /** Of the content, as `inodeOf` writes it: known again under its final name. */
  readonly inode: string;
  /** Real path of that. */
  readonly target: string;
  /** Of the event `fileUploaded` that tells of it. */
  readonly eventUuid: string;
  /** Unix time in milliseconds. */
  readonly atMs: number;
  /** Of the event. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Real path, hidden as `contentPath` is, to which the content goes when it shall not get its name any more: a rename, as its end is one. */
  readonly asidePath: string;
}

/** That an upload comes to nothing, as it was decided: its content goes, events tell of it, and then it has its outcome. */
export interface UploadEnding {
  readonly code: string;
  readonly message: string;
  /** `expired` or `cancelled` give event `unfinishedUploadEnded` besides; a cancelled one is forgotten at once. */
  readonly how: 'expired' | 'cancelled' | undefined;
  /** Whether its client knows its URL. Of one that nobody will ask for, nothing is kept. */
  readonly isTold: boolean;
  /** Of the events. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Unix time in milliseconds. */
  readonly atMs: number;
}

/** What a request may change of an upload. */
export interface UploadProgress {
  /** So much of the content is on disk. */
  readonly offsetBytes: number;
  /** Size of the whole, as soon as the client has said it. */
  readonly lengthBytes: number | undefined;
  /** Requests that brought content so far. */
  readonly requests: number;
  /** What these requests took together, in milliseconds. */
  readonly activeMs: number;
  readonly completion: UploadCompletion | undefined;
  readonly ending: UploadEnding | undefined;
  /** Set once the upload is over. */
  readonly outcome: UploadOutcome | undefined;
}

/** A change of an upload. */
export type UploadChange = Partial<UploadProgress & Pick<UploadOrder, 'contentPath'>>;

/** An upload that may take several requests. */
export interface UploadRecord extends UploadOrder, UploadProgress {
  /** Names the upload in its URL; cannot be guessed. */
  readonly id: string;
  /** When it is given up, or forgotten when it is over, unless something is heard of it before; Unix time in milliseconds. */
  readonly expiresMs: number;
}

/** What `server.uploads` allows. */
export interface UploadLimits {
  readonly expireAfterMs: number;
  readonly maxPerAccount: number;
}

/**
 * An upload for one request alone: nothing of an upload changes but through the hold on it. A request that sleeps for longer than others wait
 * (a process that is stopped, a machine that is paused) has lost it, and finds that out at its next change: it must not touch the upload then.
 */
export interface UploadHold {
  /** The upload as it is; undefined when there is none. */
  readonly record: UploadRecord | undefined;
  /** Whether a newer request wants the upload: this one must come to its end. */
  readonly isWanted: boolean;
  /** Whether somebody had the upload before who never released it, and may have its content open: it is not to be written before `renewContent`. */
  readonly isTakeover: boolean;
  /**
   * Notes what the request has done. The time of the upload starts anew.
   *
   * @throws ServiceError `unavailable` when the hold is lost (`isLost`), `not-found` when the upload is gone
   */
  change(change: UploadChange): Promise<UploadRecord>;
  /** Notes that the content is at another path, where nobody else has it open. @throws as `change` */
  renewContent(contentPath: string): Promise<UploadRecord>;
  /** Makes certain that nobody else has the upload. @throws as `change` */
  confirm(): Promise<void>;
  /** Forgets the upload. @throws as `change` */
  remove(): Promise<void>;
  /** Lets the next one have it; this one has nothing of it open any more. Call once. */
  release(): void;
}

/**
 * Where unfinished uploads are kept; their content is in the account's folders. What a promise has confirmed outlives the process.
 * Every implementation passes `test/contracts/upload-store.ts`.
 */
export interface UploadStore {
  /** Keeps a new upload. @throws ServiceError `too-many-requests` when the account has as many as it may have */
  add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord>;
  /** The upload of an ID, however it was made up; undefined when there is none. It may be over, or past its time. */
  find(id: string): Promise<UploadRecord | undefined>;
  /**
   * Waits until nobody else has the upload. Whoever has it, or waits for it, is told to come to its end: the newest wins.
   *
   * @param onWanted told when a newer request wants it
   */
  hold(id: string, onWanted: () => void): Promise<UploadHold>;
  /** Has those come to their end that have the upload, or wait for it; resolves when none of them has it. Takes nothing: for queries. */
  quiet(id: string): Promise<void>;
  /** The uploads whose content lies below a real folder, that are not over. */
  within(realPath: string): Promise<UploadRecord[]>;
  /**
   * Notes an upload that ends with its connection, for as long as it is under way: it counts as all others of its account.
   *
   * @returns tells that it has ended, once or more often
   * @throws ServiceError `too-many-requests` when the account has as many as it may have
   */
  enter(upload: PassingUpload): Promise<() => void>;
  /** Tells the uploads of this kind in a real folder, or below it, that it is gone. */
  dismiss(realPath: string): Promise<void>;
  /** The uploads whose time is over. */
  expired(): Promise<UploadRecord[]>;
  /** The uploads whose end, with or without a file, was begun and not told of, for who looks after those that a killed process left. */
  completing(): Promise<UploadRecord[]>;
  /**
   * Has those come to their end, as `completing`, that were lost with the store, where that may be.
   *
   * @param isStored whether the journal says that an upload became a file; since a Unix time in milliseconds
   */
  endLost?(isStored: (id: string, sinceMs: number) => Promise<boolean>): Promise<void>;
}

/** Where several nodes keep their unfinished uploads: it may lose some. */
export interface SharedUploadStore extends UploadStore {
  /** Those of some uploads that are not there. */
  missing(ids: readonly string[]): Promise<string[]>;
  /** Takes an upload that was lost, with the end that was decided, unless it is there. It counts for its account no more. */
  restore(record: UploadRecord): Promise<void>;
}

const lost = { details: { lost: true } };

/** @throws ServiceError `unavailable` for a request that has lost the upload to another one */
export function refuseLost(): never {
  throw new ServiceError('unavailable', 'Another request has taken the upload over, try again.', lost);
}

/** Whether a fault is that another request has the upload. */
export function isLost(error: unknown): boolean {
  return isServiceError(error) && error.details.lost === true;
}

/** The same upload after a change. */
export function changed(record: UploadRecord, change: UploadChange, nowMs: number, limits: UploadLimits): UploadRecord {
  const after = { ...record, ...change };
  return { ...after, expiresMs: computeExpiry(after, nowMs, limits) };
}

/** Whether the end of an upload was begun and is not done. */
export function isEnding({ completion, ending, outcome }: UploadProgress): boolean {
  return (completion !== undefined || ending !== undefined) && !outcome;
}

/** @throws ServiceError `too-many-requests` for an account that has as many uploads as it may have */
export function refuseMoreThan(maxPerAccount: number): never {
  throw new ServiceError('too-many-requests', `An account may have ${maxPerAccount} unfinished uploads.`);
}

/** A record of an upload that is over is kept for so long, for a client whose reply was lost. */
export const keptWhenOverMs = 600_000;

const idPattern = /^[A-Za-z0-9_-]{43}$/;

/** A new ID: 256 random bits. */
export function newUploadId(): string {
  return randomBytes(32).toString('base64url');
}

/** Whether a text has the form of an ID: nothing else becomes part of a path or a key. */
export function isUploadId(text: string): boolean {
  return idPattern.test(text);
}

/** The state of an upload that has just begun. */
export function newProgress(lengthBytes: number | undefined): UploadProgress {
  return { offsetBytes: 0, lengthBytes, requests: 0, activeMs: 0, completion: undefined, ending: undefined, outcome: undefined };
}

/** When the time of an upload is over, from now on. */
export function computeExpiry({ outcome }: Pick<UploadProgress, 'outcome'>, nowMs: number, { expireAfterMs }: UploadLimits): number {
  return nowMs + (outcome ? keptWhenOverMs : expireAfterMs);
}
