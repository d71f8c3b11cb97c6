/** Why an archive or a member cannot be read. */
export type ZipFaultReason = 'no-archive' | 'damaged' | 'encrypted' | 'unknown-packing' | 'in-parts' | 'too-large';

/** An archive or a member that cannot be read. */
export class ZipFault extends Error {
  readonly reason: ZipFaultReason;

  constructor(reason: ZipFaultReason) {
    super(reason);
    this.reason = reason;
  }
}
