import type { EventComponent, ServiceEvent } from '../../events/event.ts';
import type { DeliveryFault, RecordedReply } from '../records/delivery-record.ts';

export interface ForwardedFile {
  readonly sizeBytes: number;
  /** Fills a buffer. @returns the number of bytes that were read; 0 at the end of the file */
  read(buffer: Buffer, position: number): Promise<number>;
  /** Whether the size and modification time are the same as when the file was opened. */
  isUnchanged(): boolean;
  close(): void;
}

/** Facts about a file that was sent, for the event `fileForwarded`. */
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

/**
 * Records which files were sent, and moves or deletes them afterwards. A running service provides the implementation. The functions emit
 * events.
 */
export interface ForwardRecords {
  /**
   * Records in the journal that a file was sent. The record is on disk, and visible to all nodes, when the promise resolves.
   *
   * @throws ServiceError `storage-full` or `internal`; `unavailable` if the service ends first
   */
  forwarded(event: ServiceEvent, forwarded: Forwarded): Promise<void>;
  wasForwarded(event: ServiceEvent, handler: string): Promise<boolean>;
  /**
   * Deletes or moves the file, unless it was changed or replaced after it was opened.
   *
   * @throws ServiceError if the file could not be moved or deleted. An event about this is emitted first. There is no event if the real
   * folder of the new path is unknown (`fixed-folder`).
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

/** A connection to an SFTP server. All methods reject if the connection is lost. */
export interface SftpConnection {
  /** Returns the size of a file in bytes; undefined if it does not exist. */
  sizeOf(path: string): Promise<number | undefined>;
  isFolder(path: string): Promise<boolean>;
  makeFolder(path: string): Promise<void>;
  /** @param how `write` empties the file, `resume` keeps its content */
  open(path: string, how: 'read' | 'write' | 'resume'): Promise<Buffer>;
  write(handle: Buffer, position: number, bytes: Uint8Array): Promise<void>;
  /** @returns at least one byte; undefined at the end of the file */
  read(handle: Buffer, position: number, lengthBytes: number): Promise<Buffer | undefined>;
  /** Makes the server sync the file to its disk, if it can. */
  sync(handle: Buffer): Promise<void>;
  close(handle: Buffer): Promise<void>;
  /** Renames a file. If a file with the new name exists, it is replaced. */
  replace(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  end(): void;
}

/** The functions that handlers of type `forward` need to open files and to reach SFTP servers. */
export interface ForwardMeans {
  /**
   * Opens the file of an event.
   *
   * @param movedTo segments of the current path, if the file was moved
   * @throws ServiceError `not-found` if the file does not exist
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
  /** The pause in milliseconds that the target requested. */
  readonly askedWaitMs: number | undefined;

  readonly fault: DeliveryFault | undefined;

  constructor(message: string, reply?: RecordedReply, askedWaitMs?: number, fault?: DeliveryFault) {
    super(message);
    this.fault = fault;
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
   * Sends a file. The target has the complete file when the promise resolves.
   *
   * @param segments segments of the path at the target
   * @param id ID of the event. An earlier attempt to send the file is found by this ID
   * @throws TargetRefusal, FileChanged, or the signal's reason
   */
  send(segments: readonly string[], file: ForwardedFile, id: string, signal: AbortSignal | undefined): Promise<TargetReceipt>;
  /** Tests the target. @returns the reason why no file can be sent to it; undefined if it answers */
  ping(signal: AbortSignal | undefined): Promise<string | undefined>;
  close(): void;
}
