import type { Account } from '../../accounts/account.ts';
import type { EventContext, EventServer } from '../../events/event.ts';
import type { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Entry } from '../entry.ts';
import type { UploadOrder, UploadRecord, UploadStore } from '../uploads/upload-store.ts';
import type { HeldFacts } from './held-facts.ts';
import type { Inspections } from './inspections.ts';
import type { InspectedContent, Judgement } from './verdict.ts';

/** Content that is whole and on disk, but has no name yet. */
export interface HiddenContent {
  /** Real path of its folder at this moment. */
  folder(): string;
  /** Its hidden name. */
  readonly hiddenName: string;
  /** The name that it is to get. */
  readonly name: string;
  readonly sizeBytes: number;
  /** Unix time in milliseconds. */
  readonly modifiedMs: number;
  /** The file that it would replace. */
  current(): Entry | undefined;
  /** Renames it to another hidden name that is kept. The file is renamed when the call returns, and on disk when the promise resolves. */
  keep(name: string): Promise<void>;
}

/** The leave to give content its name. */
export interface Leave {
  /**
   * Checks that no other inspections apply now or to the final name. Called right before the rename.
   *
   * @returns the real path of the folder that was checked. The rename takes the content from there: if another node moves the folder after
   * the check, it fails (ENOENT). @throws ServiceError `unavailable`
   */
  recheck(name: string): string;
  /** To be called when it has its name. */
  given(): Promise<void>;
}

/** Judges content. @throws ServiceError `unprocessable` for a refusal, `held` when the content is held for review */
export type Gate = (content: HiddenContent) => Promise<Leave>;

/** Facts of an upload that are kept with a held upload. */
export interface GateOptions extends Partial<Pick<UploadOrder, 'metadata' | 'backendUuid'>> {
  /** Where a file lay that is moved. */
  movedFrom?: VirtualPath | undefined;
  /** Whether the client set conditions, so that a release may replace only the same file. */
  isConditional?: boolean;
  /** Whether it is only the beginning of a file, which cannot be judged. */
  isPartial?: boolean;
  /** The name that inspections are told: that of the path without the part that makes it a temporary one. */
  toldAs?: string | undefined;
}

/** A file as inspections see it; `moveTo` names its new hidden path. */
export interface MovableContent extends InspectedContent {
  moveTo(realPath: string): void;
}

/** A held upload. */
export type HeldUpload = UploadRecord & { readonly held: HeldFacts };

/** An upload to be held. */
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
  /** Its hidden name in the hold; by default a new one. */
  kept?: string;
}

/** Who decides; undefined for the service itself. */
export type Decider = { administrator: string } | undefined;

/** The content of a held upload. */
export interface HeldContent {
  readonly path: VirtualPath;
  readonly sizeBytes: number;
  /** Opens it when the first chunk is asked for, and closes it at the end. */
  chunks(): AsyncGenerator<Buffer>;
}

/** The held uploads, for all code that may hold one. */
export interface Holding {
  readonly store: UploadStore;
  readonly inspections: Inspections;
  readonly server: EventServer;
  /** Continues the work that an earlier process did not finish, now and periodically. */
  start(): void;
  stop(): Promise<void>;
  /** Holds content for review. @returns the error for the client @throws ServiceError `too-many-requests`; then nothing is kept */
  hold(hold: NewHold): Promise<ServiceError>;
  /**
   * Ends held uploads of a name when a newer upload gets that name. @param target real path @param exceptId the newer upload, if it is
   * held, too
   */
  supersede(target: string, exceptId: string | undefined): Promise<void>;
  /** All held uploads, or those of an account (by UUID). */
  list(accountUuid?: string): Promise<HeldUpload[]>;
  /** @throws ServiceError `not-found`, also for those of another account */
  find(id: string, accountUuid?: string): Promise<HeldUpload>;
  /** The held upload of an account (by UUID) that is to get a name. @param target real path */
  at(target: string, accountUuid: string): Promise<HeldUpload | undefined>;
  /**
   * Gives a held upload another name in its folder.
   *
   * @param isFree whether that name must be free at a release
   * @returns the error that tells the client @throws ServiceError `not-found`
   */
  rename(id: string, paths: NewHold['paths'], path: VirtualPath, isFree: boolean): Promise<ServiceError>;
  /** The content of a held upload. @throws ServiceError `not-found` */
  content(id: string): Promise<HeldContent>;
  /** Gives a held upload its name, after all checks except inspections. @throws ServiceError; it stays held then */
  release(id: string, by: { administrator: string }): Promise<void>;
  /** Ends a held upload without a file. @throws ServiceError `not-found` */
  discard(id: string, by: Decider, reason?: string): Promise<void>;
  /** Ends a held upload for its account; a moved file goes back to its former path. @throws ServiceError `not-found` */
  withdraw(id: string, account: { uuid: string }): Promise<void>;
  /** Has a held upload inspected again, in the background. @throws ServiceError `not-found` */
  inspectAgain(id: string): Promise<void>;
  /** Updates the paths of held uploads after their folder was moved. */
  follow(realPath: string, movedTo: { from: VirtualPath; path: VirtualPath; realPath: string }): Promise<void>;
  /** Ends the held uploads of a folder that was removed. @param realPath former path @param contentIn where its content is, if it is in the trash */
  loseFolder(realPath: string, contentIn: string | undefined): Promise<void>;
}
