import type { EventComponent, ServiceEvent } from '../../events/event.ts';
import type { RecordedReply } from '../records/delivery-record.ts';

/** An opened file that is sent. */
export interface ForwardedFile {
  readonly sizeBytes: number;
  /** Fills a buffer. @returns the bytes that were read; 0 at the end of the file */
  read(buffer: Buffer, position: number): Promise<number>;
  /** Whether size and modification time are unchanged since it was opened. */
  isUnchanged(): boolean;
  close(): void;
}

/** The outcome of a file that was sent, for its event. */
export interface Forwarded {
  /** The handler. */
  component: EventComponent;
  /** Without secrets. */
  url: string;
  sizeBytes: number;
  /** SHA-256 in hexadecimal. */
  digest: string;
  status: number | undefined;
}

/** The action on the file after it was sent. */
export type AfterSending = { kind: 'delete' } | { kind: 'move'; segments: readonly string[] };

/** Further parts of a running service: they record, move and delete files, with events. */
export interface ForwardRecords {
  /**
   * Journals that a file was sent; on disk, and known to all nodes, when the promise resolves.
   *
   * @throws ServiceError `storage-full` or `internal`; `unavailable` when the service ends before
   */
  forwarded(event: ServiceEvent, forwarded: Forwarded): Promise<void>;
  /** Whether the journal says that a handler sent the file of an event. */
  wasForwarded(event: ServiceEvent, handler: string): Promise<boolean>;
  /**
   * Deletes or moves the file, unless it is another one by now.
   *
   * @throws ServiceError if it stays in its place, after the event about that
   */
  finish(event: ServiceEvent, file: ForwardedFile, after: AfterSending, component: EventComponent): Promise<void>;
}

/** How to reach an SFTP server. */
export interface SftpLogin {
  host: string;
  port: number;
  username: string;
  /** Empty for a login by key. */
  password: string;
  /** Empty for a login by password. */
  keyPath: string;
  knownHostsPath: string;
  signal: AbortSignal;
}

/** A connection to an SFTP server. All methods reject once it is lost. */
export interface SftpConnection {
  /** Size of a file in bytes; undefined when there is none. */
  sizeOf(path: string): Promise<number | undefined>;
  isFolder(path: string): Promise<boolean>;
  makeFolder(path: string): Promise<void>;
  /** @param how `write` starts an empty file, `resume` keeps existing content */
  open(path: string, how: 'read' | 'write' | 'resume'): Promise<Buffer>;
  write(handle: Buffer, position: number, bytes: Uint8Array): Promise<void>;
  /** @returns undefined at the end of the file; else at least one byte */
  read(handle: Buffer, position: number, lengthBytes: number): Promise<Buffer | undefined>;
  /** Makes the server sync the file to its disk, if it can. */
  sync(handle: Buffer): Promise<void>;
  close(handle: Buffer): Promise<void>;
  /** Renames a file, replacing one that has the new name. */
  replace(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  end(): void;
}

/** The functions that handlers of type `forward` need in addition to the network. */
export interface ForwardMeans {
  /**
   * Opens the file of an event.
   *
   * @param movedTo segments of its current path, if it was moved
   * @throws ServiceError `not-found` when it is gone
   */
  open(event: ServiceEvent, movedTo?: readonly string[]): ForwardedFile;
  /**
   * @throws Error that says why there is no connection
   * @throws Error naming why there is no connection
   */
  connectSftp(login: SftpLogin): Promise<SftpConnection>;
  /** Undefined for commands, which cannot write a journal. */
  records?: ForwardRecords | undefined;
}

/** The file has changed; the target keeps nothing of it under its name. */
export class FileChanged extends Error {}

/** The target did not take the file. */
export class TargetRefusal extends Error {
  readonly reply: RecordedReply | undefined;
  /** The pause that the target asked for. */
  readonly askedWaitMs: number | undefined;

  constructor(message: string, reply?: RecordedReply, askedWaitMs?: number) {
    super(message);
    this.reply = reply;
    this.askedWaitMs = askedWaitMs;
  }
}

/** The confirmation of a target that has a file. */
export interface TargetReceipt {
  /** SHA-256 in hexadecimal. */
  digest: string;
  status?: number | undefined;
  reason?: string | undefined;
}

/** One URL to which files are sent. */
export interface Target {
  /**
   * Sends a file; the target has all of it when the promise resolves.
   *
   * @param segments of the path at the target
   * @param id of the event, by which an earlier attempt is found
   * @throws TargetRefusal, FileChanged, or the signal's reason
   */
  send(segments: readonly string[], file: ForwardedFile, id: string, signal: AbortSignal | undefined): Promise<TargetReceipt>;
  /** Why nothing can be sent to it; undefined if it answers. */
  ping(signal: AbortSignal | undefined): Promise<string | undefined>;
  close(): void;
}
