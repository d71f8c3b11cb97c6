import type { EventComponent, ServiceEvent } from '../../events/event.ts';
import type { RecordedReply } from '../records/delivery-record.ts';

export interface ForwardedFile {
  readonly sizeBytes: number;
  /** Fills a buffer. @returns the number of read bytes; 0 at the end of the file */
  read(buffer: Buffer, position: number): Promise<number>;
  /** Whether size and modification time are the same as at the opening. */
  isUnchanged(): boolean;
  close(): void;
}

/** Facts about a sent file, for event `fileForwarded`. */
export interface Forwarded {
  component: EventComponent;
  /** URL at the target, without secrets. */
  url: string;
  sizeBytes: number;
  /** SHA-256 in hexadecimal. */
  digest: string;
  status: number | undefined;
}

export type AfterSending = { kind: 'delete' } | { kind: 'move'; segments: readonly string[] };

/** Records which files were sent, and moves or deletes them. The functions emit events. */
export interface ForwardRecords {
  /**
   * Records that a file was sent. Resolves when the record is on disk and visible to all nodes.
   *
   * @throws ServiceError `storage-full` or `internal`; `unavailable` if the service ends first
   */
  forwarded(event: ServiceEvent, forwarded: Forwarded): Promise<void>;
  wasForwarded(event: ServiceEvent, handler: string): Promise<boolean>;
  /**
   * Deletes or moves the file, unless it changed after it was opened.
   *
   * @throws ServiceError if that failed. An event is emitted first, except if the real folder of the new path is unknown (`fixed-folder`)
   */
  finish(event: ServiceEvent, file: ForwardedFile, after: AfterSending, component: EventComponent): Promise<void>;
}

export interface SftpLogin {
  host: string;
  port: number;
  username: string;
  /** Empty for a login with a key. */
  password: string;
  /** Empty for a login with a password. */
  keyPath: string;
  knownHostsPath: string;
  signal: AbortSignal;
}

/** A connection to an SFTP server. All methods reject if it is lost. */
export interface SftpConnection {
  /** In bytes; undefined if the file does not exist. */
  sizeOf(path: string): Promise<number | undefined>;
  isFolder(path: string): Promise<boolean>;
  makeFolder(path: string): Promise<void>;
  /** @param how `write` empties the file, `resume` keeps its content */
  open(path: string, how: 'read' | 'write' | 'resume'): Promise<Buffer>;
  write(handle: Buffer, position: number, bytes: Uint8Array): Promise<void>;
  /** @returns at least one byte; undefined at the end of the file */
  read(handle: Buffer, position: number, lengthBytes: number): Promise<Buffer | undefined>;
  /** Makes the server sync the file, if it can. */
  sync(handle: Buffer): Promise<void>;
  close(handle: Buffer): Promise<void>;
  /** Renames a file. A file with the new name is replaced. */
  replace(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  end(): void;
}

/** The functions by which handlers of type `forward` open files and reach SFTP servers. */
export interface ForwardMeans {
  /**
   * Opens the file of an event.
   *
   * @param movedTo segments of its current path, if it was moved
   * @throws ServiceError `not-found` if it does not exist
   */
  open(event: ServiceEvent, movedTo?: readonly string[]): ForwardedFile;
  /** @throws Error with the reason why there is no connection */
  connectSftp(login: SftpLogin): Promise<SftpConnection>;
  /** Undefined in a command of svc, which cannot write to the journal. */
  records?: ForwardRecords | undefined;
}

/** Thrown if the file changed while it was sent. The target has no file with the final name, or still has the previous file. */
export class FileChanged extends Error {}

/** Thrown if the target did not accept the file. */
export class TargetRefusal extends Error {
  readonly reply: RecordedReply | undefined;
  /** The target's pause, in milliseconds. */
  readonly askedWaitMs: number | undefined;

  constructor(message: string, reply?: RecordedReply, askedWaitMs?: number) {
    super(message);
    this.reply = reply;
    this.askedWaitMs = askedWaitMs;
  }
}

export interface TargetReceipt {
  /** SHA-256 in hexadecimal. */
  digest: string;
  status?: number | undefined;
  reason?: string | undefined;
}

export interface Target {
  /**
   * Sends a file. Resolves when the target has all of it.
   *
   * @param segments path at the target
   * @param id ID of the event, by which an earlier attempt is found
   * @throws TargetRefusal, FileChanged, or the signal's reason
   */
  send(segments: readonly string[], file: ForwardedFile, id: string, signal: AbortSignal | undefined): Promise<TargetReceipt>;
  /** Tests the target. @returns the reason why it cannot take files; undefined if it answers */
  ping(signal: AbortSignal | undefined): Promise<string | undefined>;
  close(): void;
}
