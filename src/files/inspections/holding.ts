import type { Account } from '../../accounts/account.ts';
import type { EventContext, EventServer } from '../../events/event.ts';
import type { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Entry } from '../entry.ts';
import type { UploadOrder, UploadRecord, UploadStore } from '../uploads/upload-store.ts';
import type { HeldFacts } from './held-facts.ts';
import type { Inspections } from './inspections.ts';
import type { InspectedContent, Judgement } from './verdict.ts';

/** Content that is complete and on disk, but that does not have its final name yet. */
export interface HiddenContent {
  /** Returns the current real path of the folder with the content. */
  folder(): string;
  /** The hidden name of the content. */
  readonly hiddenName: string;
  /** The final name of the file. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Unix time in milliseconds. */
  readonly modifiedMs: number;
  /** The existing file that the content would replace. */
  current(): Entry | undefined;
  /** Renames the content synchronously to another hidden name, the argument. The rename is on disk when the promise resolves. */
  keep(name: string): Promise<void>;
}

/** The permission to rename content to its final name. */
export interface Leave {
  /**
   * Checks that no further inspection applies to the final name. Called right before the rename.
   *
   * @returns the real path of the folder that was checked. The rename takes the content from this path, so that the rename fails (ENOENT)
   *   if another node moves the folder after the check
   * @throws ServiceError `unavailable`
   */
  recheck(name: string): string;
  /** Called after the rename to the final name. */
  given(): Promise<void>;
}

/** Inspects content. @throws ServiceError `unprocessable` if the content is refused, `held` if it is held for review */
export type Gate = (content: HiddenContent) => Promise<Leave>;

/** Facts about an upload that a gate needs, and that are stored in the record of a held upload. */
export interface GateOptions extends Partial<Pick<UploadOrder, 'metadata' | 'backendUuid'>> {
  /** The former path of a file that is being moved. */
  movedFrom?: VirtualPath | undefined;
  /**
   * Whether the client set conditions. If so, and the upload is held, its release replaces only the file to which the conditions applied.
   */
  isConditional?: boolean;
  /** Whether the content is only the beginning of a file. Only whole files can be inspected. */
  isPartial?: boolean;
  /** The name that inspections see: the name of the file without the part that marks it as temporary (`a.csv` for `a.csv.part`). */
  toldAs?: string | undefined;
}

/** The content of a file for inspections. After the content was renamed, `moveTo` must be called with the new path. */
export interface MovableContent extends InspectedContent {
  moveTo(realPath: string): void;
}

/** The record of a held upload. */
export type HeldUpload = UploadRecord & { readonly held: HeldFacts };

/** The data of an upload that is to be held. */
export interface NewHold {
  paths: {
    readonly account: Account;
    readonly context: EventContext;
    emitDurable(id: number, path: VirtualPath, data: Record<string, unknown>): Promise<void>;
  };
  path: VirtualPath;
  content: Pick<HiddenContent, 'folder' | 'name' | 'sizeBytes' | 'keep'>;
  inspected: MovableContent;
  judgement: Extract<Judgement, { outcome: 'hold' }>;
  uuids: ReadonlySet<string>;
  options: GateOptions;
  /** The hidden name of the content while the upload is held. By default, a new name is created. */
  kept?: string;
}

/** The administrator who decides about a held upload; undefined if the service decides. */
export type Decider = { administrator: string } | undefined;

/** The content of a held upload. */
export interface HeldContent {
  readonly path: VirtualPath;
  readonly sizeBytes: number;
  /** Opens the file when the first chunk is read, and closes it at the end. */
  chunks(): AsyncGenerator<Buffer>;
}

/** The current place of a folder. */
export interface Place {
  path: VirtualPath;
  realPath: string;
}

/** Manages held uploads. */
export interface Holding {
  readonly store: UploadStore;
  readonly inspections: Inspections;
  readonly server: EventServer;
  /** Continues the work that an earlier process did not finish, now and at intervals. */
  start(): void;
  stop(): Promise<void>;
  /**
   * Holds content for review.
   *
   * @returns the error for the client
   * @throws ServiceError `too-many-requests`; in that case, the content is not held
   */
  hold(hold: NewHold): Promise<ServiceError>;
  /**
   * Ends the held uploads for a name, because a newer upload has this name. Never rejects: the newer upload is stored or held already.
   *
   * @param target real path that the files of these uploads would get
   * @param exceptId ID of the newer upload, if that upload is also held
   */
  supersede(target: string, exceptId: string | undefined): Promise<void>;
  /** Lists all held uploads, or those of an account (by UUID). */
  list(accountUuid?: string): Promise<HeldUpload[]>;
  /** @throws ServiceError `not-found`, also for a held upload of another account */
  find(id: string, accountUuid?: string): Promise<HeldUpload>;
  /** Finds the held upload of an account (by UUID) for a name. @param target real path that the file would get */
  at(target: string, accountUuid: string): Promise<HeldUpload | undefined>;
  /**
   * Gives a held upload another name in its folder.
   *
   * @param isFree whether that name must be free when the upload is released
   * @returns the error that tells the client that the file is held
   * @throws ServiceError `not-found`
   */
  rename(id: string, paths: NewHold['paths'], path: VirtualPath, isFree: boolean): Promise<ServiceError>;
  /** Returns the content of a held upload. @throws ServiceError `not-found` */
  content(id: string): Promise<HeldContent>;
  /**
   * Renames the content of a held upload to its final name, after all checks except inspections.
   *
   * @throws ServiceError; in that case, the upload stays held
   */
  release(id: string, by: { administrator: string }): Promise<void>;
  /** Ends a held upload, so that no file appears. @throws ServiceError `not-found` */
  discard(id: string, by: Decider, reason?: string): Promise<void>;
  /**
   * Ends a held upload at the request of its account. If the upload is a file that was moved, moves the file back.
   *
   * @throws ServiceError `not-found`
   */
  withdraw(id: string, account: { uuid: string }): Promise<void>;
  /** Inspects a held upload again in the background. @throws ServiceError `not-found` */
  inspectAgain(id: string): Promise<void>;
  /**
   * Updates the paths of held uploads after their folder was moved.
   *
   * @param realPath former real path of the folder
   * @param from former virtual path of the folder
   * @param now returns the current place of the folder, because other requests may move it again
   */
  follow(realPath: string, from: VirtualPath, now: () => Place): Promise<void>;
  /**
   * Ends the held uploads of a folder that was removed.
   *
   * @param realPath former path
   * @param contentIn returns the path of the folder's content in the trash, if it is there
   */
  loseFolder(realPath: string, contentIn: () => string | undefined): Promise<void>;
}
